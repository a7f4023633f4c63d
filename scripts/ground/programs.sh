#!/usr/bin/env bash
# Brings what the test ground runs: Docker, a registry, busybox and the Compose plugin.
# Docker is installed as Debian has it, but not started. The rest goes to the cache folder, outside of the system.
# Does nothing, and needs no network, once they are there.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$scripts/lib.sh"
# shellcheck source=scripts/fetch.sh
source "$scripts/fetch.sh"
PATH=$PATH:/usr/sbin:/sbin

COMPOSE_VERSION=2.40.3
cache="$tools/ground"
compose="$cache/docker-compose-$COMPOSE_VERSION"

# Debian starts a service when it installs one, unless a policy says no. If the machine has a policy, it is not ours
# to replace.
install_docker() {
    local policy=/usr/sbin/policy-rc.d
    if [[ -e $policy ]]; then
        local answer=0
        "$policy" docker start >/dev/null 2>&1 || answer=$?
        ((answer == 101)) || fail "$policy would let Docker's service start: please install docker.io yourself"
    else
        # shellcheck disable=SC2064 # The name is local, and so is to be known now.
        trap "rm -f '$policy'" EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    install docker.io
    # Nobody had it before, so nobody expects it after the next boot.
    if command -v systemctl >/dev/null; then
        systemctl --quiet disable docker.service docker.socket containerd.service >&2 || true
    fi
}

# `go install` refuses Compose for the directives in its go.mod, so it is built where its source was unpacked.
build_compose() {
    local go module=github.com/docker/compose/v2 source
    go=$(find_go)
    say "building Compose $COMPOSE_VERSION, once: this takes some minutes"
    export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto
    source=$(cd "$scratch" && "$go" mod download -json "$module@v$COMPOSE_VERSION" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])') || fail "cannot download $module"
    (
        cd "$source" && nice -n 10 "$go" build -trimpath -buildvcs=false -o "$scratch/docker-compose" \
            -ldflags "-s -w -X $module/internal.Version=v$COMPOSE_VERSION" ./cmd >&2
    ) || fail "cannot build Compose $COMPOSE_VERSION"
    mv "$scratch/docker-compose" "$compose"
}

open_cache
command -v ip >/dev/null || install iproute2
command -v python3 >/dev/null || install python3
command -v dockerd >/dev/null || (install_docker)
command -v docker >/dev/null || fail "there is dockerd, but no docker command: please install it"
[[ -x $cache/busybox ]] || unpack busybox-static bin/busybox
[[ -x $cache/docker-registry ]] || unpack docker-registry usr/bin/docker-registry
[[ -x $compose ]] || build_compose
ln -sfn "$(basename "$compose")" "$cache/docker-compose"
