#!/usr/bin/env bash
# The test ground: a Docker engine and a registry of our own, beside whatever else runs on the machine.
#
#   scripts/ground.sh up      brings it up, or finds it again, and repairs what has died
#   scripts/ground.sh down    ends it, and removes what it made
#   scripts/ground.sh env     prints the variables that lead to it: eval "$(scripts/ground.sh env)"
#   scripts/ground.sh status  says what runs; succeeds if all of it does
#   scripts/ground.sh run COMMAND...  runs a command on it; takes it down after, unless `up` or another run needs it
#
# It has sockets, ports, networks, cgroups and a data folder of its own, and leaves the host's firewall alone: a Docker
# engine that already runs is not touched. One setting of the machine changes as with every Docker, and stays, as others
# may rely on it by then: IPv4 is forwarded. All else is found again under ENGINE_GROUND_DIR, and goes with `down`.
# Programs come from a cache, which stays (see ground/programs.sh).
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
source "$scripts/lib.sh"
# shellcheck source=scripts/daemons.sh
source "$scripts/daemons.sh"
PATH=$PATH:/usr/sbin:/sbin

home="${ENGINE_GROUND_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/engine-ground}"
[[ $home == /* ]] || home=$PWD/$home
programs="$tools/ground"
run="$home/run"
data="$home/data"

# Several grounds may run on one machine: what is not in the folder is named after it.
id=$(printf %s "$home" | sha256sum | cut -c1-8)
bridge="eg-$id"
cgroup="engine-ground-$id"

export DOCKER_HOST="unix://$run/docker.sock"
export DOCKER_CONFIG="$home/config"
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION

docker_answers() { alive dockerd && docker version --format '{{.Server.Version}}'; }
registry_port() { cat "$run/registry.port"; }
is_up() { alive registry && alive containerd && docker_answers >/dev/null 2>&1 && [[ -s $run/images ]]; }

# The first time any free port will do. A registry that comes back keeps its port, which is part of image names.
start_registry() {
    local port listening='listening on 127\.0\.0\.1:([0-9]+)'
    port=$(registry_port 2>/dev/null || echo 0)
    cat >"$run/registry.yml" <<YAML
version: 0.1
log: {accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: "$data/registry"}, delete: {enabled: true}}
http: {addr: "127.0.0.1:$port"}
YAML
    start registry "$programs/docker-registry" serve "$run/registry.yml"
    await registry grep -qE "$listening" "$run/registry.log"
    sed -nE "s/.*$listening.*/\1/p" "$run/registry.log" >"$run/registry.port"
}

# It is a daemon of our own because dockerd would share the system's, and there the containers of the system's Docker.
start_containerd() {
    cat >"$run/containerd.toml" <<TOML
version = 2
root = "$data/containerd"
state = "$run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "$run/containerd.sock"
TOML
    rm -f "$run/containerd.sock"
    start containerd containerd --config "$run/containerd.toml" --log-level warn
    await containerd test -S "$run/containerd.sock"
}

# Docker removes the rules of another Docker when it sets up its own, so it sets up none: containers talk to each other
# and to this machine, published ports are served by a proxy, and no container reaches further.
start_dockerd() {
    local subnet
    # A network is free until its bridge is there, so two grounds must not look at the same time.
    exec 6>"$programs/.network"
    flock 6
    [[ -s $run/subnet ]] || free_subnet 200 254 >"$run/subnet"
    subnet=$(<"$run/subnet")
    if ! ip link show "$bridge" >/dev/null 2>&1; then
        ip link add "$bridge" type bridge
        ip addr add "$subnet.0.1/24" dev "$bridge"
        ip link set "$bridge" up
    fi
    exec 6>&-
    # A firewall that forwards nothing does so even within one bridge.
    open_firewall FORWARD -s "$subnet.0.0/16" -d "$subnet.0.0/16"
    cat >"$run/daemon.json" <<JSON
{
  "hosts": ["$DOCKER_HOST"],
  "containerd": "$run/containerd.sock",
  "data-root": "$data/docker",
  "exec-root": "$run/docker",
  "pidfile": "$run/docker.pid",
  "bridge": "$bridge",
  "default-address-pools": [{"base": "$subnet.128.0/17", "size": 24}],
  "iptables": false,
  "exec-opts": ["native.cgroupdriver=cgroupfs"],
  "cgroup-parent": "/$cgroup",
  "oom-score-adjust": 0,
  "registry-mirrors": ["http://localhost:$(registry_port)"],
  "log-level": "warn"
}
JSON
    rm -f "$run/docker.pid" "$run/docker.sock"
    start dockerd dockerd --config-file "$run/daemon.json"
    await dockerd docker_answers
}

# Makes the base images, and gives them to the registry as well, where Docker looks for what it is to pull.
provide_images() {
    local image copy
    # shellcheck disable=SC2046 # Each is a word of its own.
    if [[ -s $run/images && $run/images -nt $scripts/ground/images.py ]] && docker image inspect $(<"$run/images") >/dev/null 2>&1; then
        return
    fi
    python3 "$scripts/ground/images.py" "$programs/busybox" >"$run/images.tar"
    docker load --quiet --input "$run/images.tar" | sed -n 's/^Loaded image: //p' >"$run/images.new"
    while read -r image; do
        # A name alone is one of Docker's library; from another registry, the rest of it is the name.
        case $image in
            *.*/*) copy=${image#*/} ;;
            */*) copy=$image ;;
            *) copy=library/$image ;;
        esac
        copy="localhost:$(registry_port)/$copy"
        docker tag "$image" "$copy"
        docker push --quiet "$copy" >/dev/null
        docker rmi --no-prune "$copy" >/dev/null
    done <"$run/images.new"
    rm "$run/images.tar"
    mv "$run/images.new" "$run/images"
}

up() {
    (($(id -u) == 0)) || fail "only root may run a Docker engine: try sudo"
    # The longest of the sockets in it ends with 40 more characters, and no socket's path may be longer than 107.
    ((${#home} <= 66)) || fail "the path $home is too long for a socket: set ENGINE_GROUND_DIR to a shorter one"
    "$scripts/ground/programs.sh"
    mkdir -p "$run" "$data" "$DOCKER_CONFIG/cli-plugins"
    ln -sfn "$programs/docker-compose" "$DOCKER_CONFIG/cli-plugins/docker-compose"
    alive registry || start_registry
    if ! alive containerd; then
        # A Docker engine that has lost its containerd does not come back to it.
        stop dockerd
        start_containerd
    fi
    docker_answers >/dev/null 2>&1 || { stop dockerd && start_dockerd; }
    provide_images
}

remove_networks() {
    local subnet name
    subnet=$(cat "$run/subnet" 2>/dev/null) || return 0
    ip -o -4 addr show to "$subnet.0.0/16" | awk '{print $2}' | while read -r name; do
        case $name in "$bridge" | br-*) ip link delete "$name" ;; esac
    done
    close_firewall FORWARD
}

down() {
    [[ -d $run ]] || return 0
    stop dockerd
    stop containerd
    stop registry
    end_containers
    # The socket of the helper beside each container is the one thing that is not in our folder.
    { grep -hs '^unix://' "$run"/containerd/*/moby/*/address || true; } |
        while read -r address; do rm -f "${address#unix://}"; done
    remove_networks
    unmount_all
    rm -rf --one-file-system "$home/config" "$data" "$run"
}

print_env() {
    is_up || fail "the test ground is not up: scripts/ground.sh up"
    printf 'export DOCKER_HOST=%q DOCKER_CONFIG=%q ENGINE_TEST_REGISTRY=%q ENGINE_TEST_REGISTRY_PROGRAM=%q\n' \
        "$DOCKER_HOST" "$DOCKER_CONFIG" "localhost:$(registry_port)" "$programs/docker-registry"
}

status() {
    show_daemons dockerd containerd registry
    is_up || return 1
    printf '%-10s %s, Docker %s\n' at "$DOCKER_HOST" "$(docker_answers)"
    printf '%-10s localhost:%s\n' registry "$(registry_port)"
    printf '%-10s %s\n' images "$(paste -sd' ' "$run/images")"
}

# No `&&` here: a function that is called in such a list does not stop at its first error.
case "${1:-}" in
    up)
        lock
        up
        touch "$home/.keep"
        status >&2
        ;;
    down)
        lock
        down
        rm -f "$home/.keep"
        ;;
    env) print_env ;;
    status) status ;;
    run)
        shift
        run_command "$@"
        ;;
    *) fail "usage: scripts/ground.sh up | down | env | status | run COMMAND..." ;;
esac
