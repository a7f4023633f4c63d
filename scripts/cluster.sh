#!/usr/bin/env bash
# The test cluster: a Kubernetes of our own with one real node, on the registry of the test ground (see ground.sh).
#
#   scripts/cluster.sh up      brings it up, or finds it again, and repairs what has died
#   scripts/cluster.sh down    ends it, and removes what it made; the ground stays
#   scripts/cluster.sh env     prints the variables that lead to it and to the ground: eval "$(scripts/cluster.sh env)"
#   scripts/cluster.sh status  says what runs; succeeds if all of it does
#   scripts/cluster.sh run COMMAND...  runs a command on it; takes it down after, unless `up` or another run needs it
#   scripts/cluster.sh pause PART | resume PART  lets a part hang, with all its connections open, and go on
#   scripts/cluster.sh stop PART | start PART    takes a part away, and brings it back as it was
#
# With ENGINE_CLUSTER_PARTS=api it is only an API server and its store, without a node, a controller or the ground.
# Several may run on one machine, each with its own ENGINE_CLUSTER_DIR. The node lives in a network and a mount namespace
# of its own: its services and pods change nothing in the host's firewall. The host has a route to them, and an address
# on its loopback device where the API server is.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
source "$scripts/lib.sh"
# shellcheck source=scripts/daemons.sh
source "$scripts/daemons.sh"
# shellcheck source=scripts/cluster/pki.sh
source "$scripts/cluster/pki.sh"
# shellcheck source=scripts/cluster/parts.sh
source "$scripts/cluster/parts.sh"
PATH=$tools/bin:$PATH:/usr/sbin:/sbin

home="${ENGINE_CLUSTER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/engine-cluster}"
[[ $home == /* ]] || home=$PWD/$home
programs="$tools/cluster"
run="$home/run"
data="$home/data"
pki="$home/pki"
bin="$home/bin"

# What is not in the folder is named after it. Whose cluster is called like this is a developer's, for most tools.
id=$(printf %s "$home" | sha256sum | cut -c1-8)
name="engine-$id"
node="$name-control-plane"
cgroup="engine-cluster-$id"
link="ec-$id"

export KUBECONFIG="$home/kubeconfig"
export ENGINE_CLUSTER_CONTAINERD="$run/containerd.sock"
# What kubectl remembers of one cluster is not to be taken for what the next one at the same address has.
export KUBECACHEDIR="$run/kubectl"

control=(etcd apiserver)
others=(manager scheduler node containerd kubelet proxy dns)
case "${ENGINE_CLUSTER_PARTS:-all}" in
    all) parts=("${control[@]}" "${others[@]}") ;;
    api) parts=("${control[@]}") ;;
    *) fail "ENGINE_CLUSTER_PARTS is ${ENGINE_CLUSTER_PARTS}, and neither all nor api" ;;
esac
has() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# Each cluster has a network of its own: 0.1 is the machine, 0.2 the node, from 64.0 on are services, from 128.0 pods.
claim_subnet() {
    if [[ ! -s $run/subnet ]]; then
        free_subnet 150 199 >"$run/subnet.new"
        mv "$run/subnet.new" "$run/subnet"
    fi
    subnet=$(<"$run/subnet")
    ip addr replace "$subnet.0.1/32" dev lo
}

# Nobody else may look for a free network before ours can be seen to be taken.
claim_address() {
    exec 6>/run/engine-cluster.lock
    flock 6
    claim_subnet
    exec 6>&-
}

api() { kubectl --request-timeout 5s get --raw "$1"; }
api_answers() { alive apiserver && api /readyz; }
kubelet_answers() { api "/api/v1/nodes/$node/proxy/healthz"; }
proxy_answers() { api "/api/v1/nodes/$node:10256/proxy/healthz"; }
takes_pods() {
    local state
    state=$(api "/api/v1/nodes/$node")
    [[ $state == *'"type":"Ready","status":"True"'* && $state != *'"taints":'* ]] &&
        api /api/v1/namespaces/default/serviceaccounts/default
}
all_alive() {
    local part
    for part in "${parts[@]}"; do alive "$part" || return; done
}
is_up() { all_alive && api_answers >/dev/null 2>&1; }

# Tells everybody where images can be pushed to, as https://kep.k8s.io/1755 has it.
announce_registry() {
    local path=/api/v1/namespaces/kube-public/configmaps
    printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "local-registry-hosting"}, "data": {%s}}\n' \
        "\"localRegistryHosting.v1\": \"host: \\\"localhost:$(registry_port)\\\"\\n\"" >"$run/announcement.json"
    kubectl replace --raw "$path/local-registry-hosting" --filename "$run/announcement.json" ||
        kubectl create --raw "$path" --filename "$run/announcement.json"
}

up() {
    local part program
    (($(id -u) == 0)) || fail "only root may run a node: try sudo"
    ((${#home} <= 80)) || fail "the path $home is too long for a socket: set ENGINE_CLUSTER_DIR to a shorter one"
    "$scripts/cluster/programs.sh"
    command -v kubectl >/dev/null || "$scripts/tools.sh"
    mkdir -p "$run" "$data" "$bin"
    for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy node dns; do
        ln -sfn "$programs/kube" "$bin/$program"
    done
    ln -sfn "$programs/etcd" "$bin/etcd"
    claim_address
    make_pki
    for part in "${parts[@]}"; do resume "$part"; done
    alive etcd || start_etcd
    api_answers >/dev/null 2>&1 || { stop apiserver && start_apiserver; }
    if has node; then
        prepare_node
    fi
    await apiserver api_answers
    if has node; then
        start_all
    fi
}

# Brings up what of the node needs no API server.
prepare_node() {
    local part port=${ENGINE_TEST_REGISTRY##*:}
    if [[ $port != "$(registry_port 2>/dev/null)" ]]; then
        # Another registry has taken the place of the one that the node knows.
        stop node
        echo "$port" >"$run/registry.port"
    fi
    if ! alive node; then
        for part in dns proxy kubelet containerd; do stop "$part"; done
        start_node
    fi
    alive containerd || start_containerd
}

start_all() {
    local part
    for part in manager scheduler kubelet proxy dns; do
        alive "$part" || "start_$part"
    done
    await apiserver announce_registry
    await kubelet kubelet_answers
    await proxy proxy_answers
    await dns dns_answers
    await manager takes_pods
}

down() {
    local part
    [[ -d $run ]] || return 0
    subnet=$(cat "$run/subnet" 2>/dev/null || true)
    for part in "${others[@]}" "${control[@]}"; do stop "$part"; done
    end_containers
    ip link delete "$link" 2>/dev/null || true
    close_firewall INPUT
    [[ -z $subnet ]] || ip addr delete "$subnet.0.1/32" dev lo 2>/dev/null || true
    unmount_all
    rm -rf --one-file-system "$bin" "$data" "$pki" "$run" "$KUBECONFIG"
}

pause() { kill -STOP "$(<"$run/$1.pid")"; }
resume() {
    if alive "$1"; then
        kill -CONT "$(<"$run/$1.pid")"
    fi
}

# Brings one part back. It is there when others can use it.
bring_back() {
    subnet=$(<"$run/subnet")
    alive "$1" || "start_$1"
    case $1 in
        etcd | apiserver) await apiserver api_answers ;;
        kubelet) await kubelet kubelet_answers ;;
        proxy) await proxy proxy_answers ;;
        dns) await dns dns_answers ;;
    esac
}

print_env() {
    is_up || fail "the test cluster is not up: scripts/cluster.sh up"
    printf 'export KUBECONFIG=%q\n' "$KUBECONFIG"
    if has node; then
        printf 'export ENGINE_CLUSTER_CONTAINERD=%q\n' "$ENGINE_CLUSTER_CONTAINERD"
        "$scripts/ground.sh" env
    fi
}

status() {
    show_daemons "${parts[@]}"
    is_up || return 1
    printf '%-10s %s, %s\n' at "$(sed -n 's/^ *server: //p' "$KUBECONFIG")" \
        "Kubernetes $(api /version | sed -nE 's/.*"gitVersion": "v([^"]*)".*/\1/p')"
    printf '%-10s %s\n' kubeconfig "$KUBECONFIG"
}

# All that is on the node would have to come back with the node itself.
check_part() {
    if ! has "$1" || [[ $1 == node ]]; then
        fail "$1 is none of: $(printf '%s\n' "${parts[@]}" | grep -vx node | paste -sd' ')"
    fi
}

# No `&&` here: a function that is called in such a list does not stop at its first error.
case "${1:-}" in
    up)
        if has node; then
            "$scripts/ground.sh" up
            eval "$("$scripts/ground.sh" env)"
        fi
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
        if has node; then
            exec "$scripts/ground.sh" run "$scripts/cluster.sh" run-on-ground "$@"
        fi
        run_command "$@"
        ;;
    run-on-ground)
        shift
        run_command "$@"
        ;;
    pause | resume | stop)
        check_part "${2:-}"
        lock
        "$1" "$2"
        ;;
    start)
        check_part "${2:-}"
        lock
        bring_back "$2"
        ;;
    *) fail "usage: scripts/cluster.sh up | down | env | status | run COMMAND... | pause|resume|stop|start PART" ;;
esac
