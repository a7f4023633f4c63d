# shellcheck shell=bash
# What the scripts share: talk to the user, and installing what is missing. To be sourced.

# The cache folder for programs; it is outside the work tree, and a second checkout finds them there too.
# shellcheck disable=SC2034 # Those who source this use it.
tools="${ENGINE_TOOLS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/engine-tools}"

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
fail() { say "$*"; exit 1; }

# Installs Debian packages, where we may.
install() {
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        fail "please install $* (on Debian: sudo apt-get install $*)"
    fi
    say "installing $* from Debian"
    apt-get update -qq >&2 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=600 "$@" >&2 || fail "cannot install $*"
}
