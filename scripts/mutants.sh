#!/usr/bin/env bash
# Draws mutants of the core by a seed, and says which of them its own tests do not catch.
#
#   scripts/mutants.sh [NUMBER [SEED]]
#
# Needs cargo-mutants (`cargo install --locked cargo-mutants`). The seed is printed; the same one draws the same mutants.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
number=${1:-30} seed=${2:-$RANDOM}
command -v cargo-mutants >/dev/null || {
    echo "mutants: needs cargo-mutants: cargo install --locked cargo-mutants" >&2
    exit 1
}
# Random histories catch what transcripts do not; a tenth of them is enough here.
export PROPTEST_CASES=${PROPTEST_CASES:-400}

drawn=$(cargo mutants --package engine-core --list | python3 -c '
import random, re, sys
number, seed = map(int, sys.argv[1:])
mutants = sys.stdin.read().splitlines()
drawn = random.Random(seed).sample(sorted(mutants), min(number, len(mutants)))
print(f"mutants: {len(drawn)} of {len(mutants)}, seed {seed}", file=sys.stderr)
print("^(" + "|".join(re.escape(it) for it in drawn) + ")$")
' "$number" "$seed")
exec cargo mutants --package engine-core --re "$drawn" --timeout 300 --no-shuffle --colors never \
    --output "${CARGO_TARGET_DIR:-target}"
