#!/usr/bin/env bash
# Measures the engine, and Tilt beside it if TILT_BIN is set: scripts/bench.sh path/to/engine
set -euo pipefail

cd "$(dirname "$0")/.."
tools="${ENGINE_TOOLS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/engine-tools}"
export PATH="$tools/bin:$PATH"
exec python3 -B scripts/bench "${1:-${CARGO_TARGET_DIR:-target}/release/engine}" ${TILT_BIN:+"$TILT_BIN"}
