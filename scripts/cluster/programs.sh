#!/usr/bin/env bash
# Brings what the test cluster runs, beside what the test ground has brought: Kubernetes, etcd and network plugins.
# They go to the cache folder, outside of the system. Does nothing, and needs no network, once they are there.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$scripts/lib.sh"
# shellcheck source=scripts/fetch.sh
source "$scripts/fetch.sh"
PATH=$PATH:/usr/sbin:/sbin

cache="$tools/cluster"
source="$scripts/cluster/kube"
version=$(sed -nE 's/^\tk8s\.io\/kubernetes v(.*)$/\1/p' "$source/go.mod")
# What is built depends on our part of it as well.
kube="$cache/kube-$version-$(cd "$source" && cat go.mod go.sum ./*.go pause/*.go | sha256sum | cut -c1-8)"

# All of Kubernetes that we need is one program: most of what its parts are made of, they share.
build_kube() {
    local go package=k8s.io/component-base/version major minor
    go=$(find_go)
    IFS=. read -r major minor _ <<<"$version"
    say "building Kubernetes $version, once: this takes ten minutes on two cores"
    export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto GOFLAGS=-mod=readonly
    (
        cd "$source" && nice -n 10 "$go" build -trimpath -buildvcs=false -o "$scratch/kube" -ldflags "-s -w \
            -X $package.gitVersion=v$version -X $package.gitMajor=$major -X $package.gitMinor=$minor" . >&2 &&
            "$go" build -trimpath -buildvcs=false -o "$scratch/pause" -ldflags "-s -w" ./pause >&2
    ) || fail "cannot build Kubernetes $version"
    mv "$scratch/pause" "$cache/"
    mv "$scratch/kube" "$kube"
}

open_cache
command -v openssl >/dev/null || install openssl
command -v iptables >/dev/null || install iptables
[[ -x $cache/etcd ]] || unpack etcd-server usr/bin/etcd
[[ -x $cache/cni/bridge ]] || unpack containernetworking-plugins usr/lib/cni
[[ -x $kube && -x $cache/pause ]] || build_kube
ln -sfn "$(basename "$kube")" "$cache/kube"
