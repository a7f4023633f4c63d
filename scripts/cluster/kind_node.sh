#!/usr/bin/env bash
# A container that looks to image loaders like a node of kind: its labels, and containerd with `ctr` inside.
#
#   scripts/cluster/kind_node.sh up NAME          starts the node of the kind cluster NAME, with a containerd of its own
#   scripts/cluster/kind_node.sh up NAME SOCKET   starts one whose `ctr` reaches the containerd behind a socket instead,
#                                                 as that of the test cluster: what is loaded there, its pods can run
#   scripts/cluster/kind_node.sh down NAME        removes it
#
# It runs on the Docker engine that the environment names, which is meant to be the test ground's. No image holds its
# programs: it has those of the machine, which are not to be written to.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$scripts/lib.sh"

up() {
    local name=$1 socket=${2:-} options=() command=(containerd --log-level warn)
    if [[ -n $socket ]]; then
        options=(--volume "$socket:/run/containerd/containerd.sock")
        command=(sleep infinity)
    fi
    # What containerd mounts needs a file system that is not itself made of layers.
    docker run --detach --quiet --name "$name-control-plane" --hostname "$name-control-plane" \
        --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
        --label "io.x-k8s.kind.cluster=$name" --label io.x-k8s.kind.role=control-plane \
        --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin --volume /var/lib/containerd --tmpfs /run \
        --volume /usr:/usr:ro --volume "$(readlink -f /lib):/lib:ro" --volume "$(readlink -f /lib64):/lib64:ro" \
        "${options[@]}" busybox:latest "${command[@]}"
    until docker exec "$name-control-plane" ctr version >/dev/null 2>&1; do
        [[ $(docker inspect --format '{{.State.Running}}' "$name-control-plane") == true ]] ||
            { docker logs "$name-control-plane" >&2 && fail "the node of $name does not come up (its log is above)"; }
        sleep 0.05
    done
}

case "$#:${1:-}" in
    2:up | 3:up)
        shift
        up "$@"
        ;;
    2:down) docker rm --force --volumes "$2-control-plane" ;;
    *) fail "usage: scripts/cluster/kind_node.sh up NAME [SOCKET] | down NAME" ;;
esac
