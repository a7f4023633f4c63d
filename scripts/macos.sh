#!/usr/bin/env bash
# Checks that everything compiles for macOS, on any machine: nothing is linked, and nothing runs.
#   macos.sh tools   fetches what that needs: Rust's libraries for both Apple targets, and a C compiler
#   macos.sh check   checks one of them, or says why it cannot: the other has the same types, and would double the time
set -euo pipefail

# Some crates bring C code, for which this compiler has Apple's headers with it.
ZIG_VERSION=0.17.0
TARGETS=(aarch64-apple-darwin x86_64-apple-darwin)
CHECKED=aarch64-apple-darwin

# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
zig="$tools/zig-$ZIG_VERSION/ziglang/zig"

missing_targets() {
    local libraries target
    libraries=$(rustc --print sysroot)/lib/rustlib
    for target in "${TARGETS[@]}"; do
        [[ -d $libraries/$target/lib ]] || echo "$target"
    done
}

add_targets() {
    local missing
    mapfile -t missing < <(missing_targets)
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if ! command -v rustup >/dev/null; then
        say "no check for macOS: this Rust is not from rustup, and lacks ${missing[*]}"
    elif ! timeout 300 rustup target add "${missing[@]}" >&2; then
        say "no check for macOS: rustup cannot fetch ${missing[*]}"
    fi
}

add_zig() {
    [[ ! -x $zig ]] || return 0
    mkdir -p "$tools"
    exec 9>"$tools/.lock"
    flock 9
    # Another run may have finished while this one waited.
    [[ ! -x $zig ]] || return 0
    say "fetching zig $ZIG_VERSION"
    local new="$tools/.zig.new"
    rm -rf "$new"
    python3 -m pip --version >/dev/null 2>&1 || install python3-pip
    if python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
        --target "$new" "ziglang==$ZIG_VERSION" >&2; then
        mv "$new" "$tools/zig-$ZIG_VERSION"
    else
        rm -rf "$new"
        say "no check for macOS: pip cannot fetch ziglang $ZIG_VERSION"
    fi
}

# Makes a compiler for a target that takes what build scripts say to Apple's, which knows other flags.
make_compiler() {
    local file=$1 arch=${2%%-*}
    cat >"$file" <<SCRIPT
#!/usr/bin/env bash
args=()
while [[ \$# -gt 0 ]]; do
    case \$1 in
        --target=* | -m*-version-min=*) ;;
        -target | -arch | -isysroot) shift ;;
        *) args+=("\$1") ;;
    esac
    shift
done
exec "$zig" cc -target $arch-macos "\${args[@]}"
SCRIPT
    chmod +x "$file"
}

check_target() {
    local target=$1 dir=$2 underscored=${1//-/_}
    make_compiler "$dir/cc-$target" "$target"
    printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >"$dir/ar"
    chmod +x "$dir/ar"
    # Build scripts ask for Apple's development kit, which the compiler does without.
    env "CC_$underscored=$dir/cc-$target" "AR_$underscored=$dir/ar" SDKROOT=/ \
        ZIG_GLOBAL_CACHE_DIR="$dir/zig" ZIG_LOCAL_CACHE_DIR="$dir/zig" \
        "${CARGO:-cargo}" check --locked --release --workspace --target "$target" --target-dir "$dir"
}

check() {
    local missing dir
    mapfile -t missing < <(missing_targets | grep -x "$CHECKED")
    if [[ ${#missing[@]} -gt 0 ]]; then
        say "skipped: Rust lacks ${missing[*]} (make tools adds them where rustup can fetch them)"
        return
    fi
    if [[ ! -x $zig ]]; then
        say "skipped: no C compiler for macOS (make tools adds zig $ZIG_VERSION where pip can fetch it)"
        return
    fi
    # Apart from what the tests build, so that neither has to wait for the other.
    dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/macos
    mkdir -p "$dir"
    check_target "$CHECKED" "$dir" || fail "it does not compile for $CHECKED"
}

case ${1:-} in
    tools)
        add_targets
        add_zig
        ;;
    check) check ;;
    *) fail "usage: macos.sh tools|check" ;;
esac
