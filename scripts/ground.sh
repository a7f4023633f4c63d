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
PATH=$PATH:/usr/sbin:/sbin

ground="${ENGINE_GROUND_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/engine-ground}"
[[ $ground == /* ]] || ground=$PWD/$ground
programs="$tools/ground"
run="$ground/run"
data="$ground/data"

# Several grounds may run on one machine: what is not in the folder is named after it.
id=$(printf %s "$ground" | sha256sum | cut -c1-8)
bridge="eg-$id"
cgroup="engine-ground-$id"

export DOCKER_HOST="unix://$run/docker.sock"
export DOCKER_CONFIG="$ground/config"
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION

# Starts a daemon that outlives this script. It must not hold our locks, nor the pipe of whoever waits for our output.
start() {
    local name=$1
    shift
    : >"$run/$name.log"
    setsid "$@" </dev/null >>"$run/$name.log" 2>&1 7>&- 9>&- &
    echo $! >"$run/$name.pid"
    disown
}

# After a reboot the process with that number may be somebody else's, so its command line has to name our folder.
alive() {
    local pid
    pid=$(cat "$run/$1.pid" 2>/dev/null) && grep -qzsF "$ground/" "/proc/$pid/cmdline"
}

# Waits until a check succeeds, for as long as the daemon lives.
await() {
    local name=$1 pid deadline=$((SECONDS + 60))
    shift
    pid=$(<"$run/$name.pid")
    until "$@" >/dev/null 2>&1; do
        if ! kill -0 "$pid" 2>/dev/null || ((SECONDS > deadline)); then
            tail -n 20 "$run/$name.log" >&2
            fail "$name does not come up (its log is above)"
        fi
        sleep 0.05
    done
}

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

# Prints the first two numbers of a network that no route of this machine leads to.
free_subnet() {
    local second
    for second in $(seq 200 254); do
        if ! grep -qE "(^| )10\.$second\." <<<"$(ip -4 route show table all)"; then
            echo "10.$second"
            return
        fi
    done
    fail "no network from 10.200.0.0 to 10.254.0.0 is free"
}

# Docker removes the rules of another Docker when it sets up its own, so it sets up none: containers talk to each other
# and to this machine, published ports are served by a proxy, and no container reaches further.
start_dockerd() {
    local subnet
    [[ -s $run/subnet ]] || free_subnet >"$run/subnet"
    subnet=$(<"$run/subnet")
    if ! ip link show "$bridge" >/dev/null 2>&1; then
        ip link add "$bridge" type bridge
        ip addr add "$subnet.0.1/24" dev "$bridge"
        ip link set "$bridge" up
    fi
    open_firewall "$subnet"
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

# Where another Docker runs, or a firewall, nothing is forwarded unless a rule allows it, not even within one bridge.
open_firewall() {
    local rule=(FORWARD -s "$1.0.0/16" -d "$1.0.0/16" -m comment --comment "$cgroup" -j ACCEPT)
    if grep -qx -- '-P FORWARD DROP' <<<"$(iptables -S FORWARD 2>/dev/null)" && ! iptables -C "${rule[@]}" 2>/dev/null; then
        iptables -I "${rule[@]}"
    fi
}

close_firewall() {
    local rule
    iptables -S FORWARD 2>/dev/null | grep -F -- "$cgroup" | while read -r _ rule; do
        # shellcheck disable=SC2086 # They are the words of one rule.
        iptables -D ${rule//\"/}
    done || true
}

# Makes the base images, and gives them to the registry as well, where Docker looks for what it is to pull.
provide_images() {
    local image copy
    # shellcheck disable=SC2046 # Each is a word of its own.
    if [[ -s $run/images ]] && docker image inspect $(<"$run/images") >/dev/null 2>&1; then
        return
    fi
    python3 "$scripts/ground/images.py" "$programs/busybox" >"$run/images.tar"
    docker load --quiet --input "$run/images.tar" | sed -n 's/^Loaded image: //p' >"$run/images.new"
    while read -r image; do
        copy="localhost:$(registry_port)/library/$image"
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
    ((${#ground} <= 66)) || fail "the path $ground is too long for a socket: set ENGINE_GROUND_DIR to a shorter one"
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

# Ends one daemon for sure. Nothing that it might still want to save is of use to anybody.
stop() {
    if alive "$1"; then
        end "$(<"$run/$1.pid")"
    fi
    rm -f "$run/$1.pid"
}

# Kills processes by their ids, and waits until they are gone.
end() {
    local pid
    kill -KILL "$@" 2>/dev/null || true
    for pid in "$@"; do
        # A zombie has no command line any more, and waits only for its parent.
        while grep -qs . "/proc/$pid/cmdline"; do sleep 0.02; done
    done
}

cgroup_folders() { find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" 2>/dev/null || true; }

# Ends what runs in containers, and the helper that containerd keeps beside each, which names its socket.
end_containers() {
    local pids
    mapfile -t pids < <(
        cgroup_folders | while read -r folder; do cat "$folder/cgroup.procs" 2>/dev/null || true; done | sort -un
        grep -lzsxF -- "$run/containerd.sock" /proc/[0-9]*/cmdline | cut -d/ -f3
    )
    ((${#pids[@]} == 0)) || end "${pids[@]}"
    # The helper's own socket is the one thing that is not in our folder.
    { grep -hs '^unix://' "$run"/containerd/*/moby/*/address || true; } |
        while read -r address; do rm -f "${address#unix://}"; done
    cgroup_folders | while read -r folder; do rmdir "$folder" 2>/dev/null || true; done
}

remove_networks() {
    local subnet name
    subnet=$(cat "$run/subnet" 2>/dev/null) || return 0
    ip -o -4 addr show to "$subnet.0.0/16" | awk '{print $2}' | while read -r name; do
        case $name in "$bridge" | br-*) ip link delete "$name" ;; esac
    done
    close_firewall
}

unmount_all() {
    local path
    awk '{print $2}' /proc/mounts | { grep -F "$ground/" || true; } | sort -r | while read -r path; do
        umount -l "$(printf %b "$path")"
    done
}

down() {
    [[ -d $run ]] || return 0
    stop dockerd
    stop containerd
    stop registry
    end_containers
    remove_networks
    unmount_all
    rm -rf --one-file-system "$ground/config" "$data" "$run"
}

print_env() {
    is_up || fail "the test ground is not up: scripts/ground.sh up"
    printf 'export DOCKER_HOST=%q DOCKER_CONFIG=%q ENGINE_TEST_REGISTRY=%q\n' \
        "$DOCKER_HOST" "$DOCKER_CONFIG" "localhost:$(registry_port)"
}

status() {
    local name
    for name in dockerd containerd registry; do
        if alive "$name"; then
            printf '%-10s runs, pid %s\n' "$name" "$(<"$run/$name.pid")"
        else
            printf '%-10s does not run\n' "$name"
        fi
    done
    is_up || return 1
    printf '%-10s %s, Docker %s\n' at "$DOCKER_HOST" "$(docker_answers)"
    printf '%-10s localhost:%s\n' registry "$(registry_port)"
    printf '%-10s %s\n' images "$(paste -sd' ' "$run/images")"
}

# Only one of us changes the ground at a time.
lock() {
    mkdir -p "$ground"
    exec 9>"$ground/.lock"
    flock -n 9 || { say "waiting for another to finish with $ground" && flock 9; }
}
unlock() { exec 9>&-; }

# Holds a shared lock meanwhile, so that the last one out is known.
run_command() {
    lock
    up
    exec 7>"$ground/.users"
    flock -s 7
    unlock
    trap leave EXIT
    eval "$(print_env)"
    "$@" 7>&-
}

leave() {
    lock
    if flock -n -x 7 && [[ ! -e $ground/.keep ]]; then
        down
    fi
}

# No `&&` here: a function that is called in such a list does not stop at its first error.
case "${1:-}" in
    up)
        lock
        up
        touch "$ground/.keep"
        status >&2
        ;;
    down)
        lock
        down
        rm -f "$ground/.keep"
        ;;
    env) print_env ;;
    status) status ;;
    run)
        shift
        run_command "$@"
        ;;
    *) fail "usage: scripts/ground.sh up | down | env | status | run COMMAND..." ;;
esac
