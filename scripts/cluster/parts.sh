# shellcheck shell=bash disable=SC2154
# The parts of the test cluster, and how each is started. To be sourced by cluster.sh.

start_etcd() {
    start etcd "$bin/etcd" --data-dir "$data/etcd" --unsafe-no-fsync --logger zap --log-level warn \
        --listen-client-urls "https://$subnet.0.1:2379" --advertise-client-urls "https://$subnet.0.1:2379" \
        --listen-peer-urls "http://$subnet.0.1:2380" --initial-advertise-peer-urls "http://$subnet.0.1:2380" \
        --initial-cluster "default=http://$subnet.0.1:2380" --client-cert-auth --trusted-ca-file "$pki/ca.crt" \
        --cert-file "$pki/apiserver.crt" --key-file "$pki/apiserver.key"
}

start_apiserver() {
    start apiserver "$bin/kube-apiserver" --bind-address "$subnet.0.1" --advertise-address "$subnet.0.1" \
        --secure-port 6443 --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
        --client-ca-file "$pki/ca.crt" --authorization-mode Node,RBAC --allow-privileged \
        --etcd-servers "https://$subnet.0.1:2379" --etcd-cafile "$pki/ca.crt" \
        --etcd-certfile "$pki/apiserver.crt" --etcd-keyfile "$pki/apiserver.key" \
        --kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP \
        --kubelet-client-certificate "$pki/apiserver.crt" --kubelet-client-key "$pki/apiserver.key" \
        --service-cluster-ip-range "$subnet.64.0/18" --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file "$pki/accounts.key" --service-account-signing-key-file "$pki/accounts.key"
}

start_manager() {
    start manager "$bin/kube-controller-manager" --kubeconfig "$pki/manager.conf" --leader-elect=false \
        --secure-port 0 --use-service-account-credentials --kube-api-qps 500 --kube-api-burst 1000 \
        --service-account-private-key-file "$pki/accounts.key" --root-ca-file "$pki/ca.crt" \
        --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
}

start_scheduler() {
    start scheduler "$bin/kube-scheduler" --kubeconfig "$pki/scheduler.conf" --leader-elect=false --secure-port 0 \
        --kube-api-qps 500 --kube-api-burst 1000
}

on_node() { nsenter --target "$(<"$run/node.pid")" --net --mount -- "$@"; }
start_on_node() { start "$1" nsenter --target "$(<"$run/node.pid")" --net --mount -- "${@:2}"; }
registry_port() { cat "$run/registry.port"; }

# The node is a process that holds the namespaces of all that runs on it, and carries what they want from the registry
# to the machine. Programs that have fixed folders of their own on the machine have them in ours instead. No name of the
# outside world is known there: a pull from there fails at once.
start_node() {
    end_containers
    ip link delete "$link" 2>/dev/null || true
    mkdir -p "$data"/{kubelet,log,shims}
    : >"$run/resolv.conf"
    # shellcheck disable=SC2016 # These are for the shell on the node.
    start node unshare --net --mount --propagation slave bash -euc '
        mount --make-rshared /
        for folder in /var/lib/kubelet:kubelet /var/log:log /run/containerd:shims; do
            mkdir -p "${folder%:*}"
            mount --bind "$1/data/${folder#*:}" "${folder%:*}"
        done
        mount --bind "$1/run/resolv.conf" /etc/resolv.conf
        ip link set lo up
        echo 1 >/proc/sys/net/ipv4/ip_forward
        exec "$1/bin/node" "$2"' node "$home" "127.0.0.1:$(registry_port)" 3</proc/self/ns/net
    await node grep -qzxF "$bin/node" "/proc/$(<"$run/node.pid")/cmdline"
    join_networks
}

# A service that does not exist is nowhere: without a rule, the machine would send such a packet back to the node.
join_networks() {
    local range from
    ip link add "$link" type veth peer name eth0 netns "$(<"$run/node.pid")"
    ip link set "$link" up
    ip route replace "$subnet.0.2" dev "$link" src "$subnet.0.1"
    on_node ip addr add "$subnet.0.2/32" dev eth0
    on_node ip link set eth0 up
    on_node ip route add "$subnet.0.1" dev eth0
    on_node ip route add default via "$subnet.0.1"
    for range in 64.0/18 128.0/17; do
        ip route replace "$subnet.$range" via "$subnet.0.2" dev "$link" src "$subnet.0.1"
    done
    for from in eth0 pods; do
        on_node ip rule add iif "$from" to "$subnet.64.0/18" unreachable
    done
    open_firewall INPUT -i "$link"
}

# Pulls what is named after a registry that the tests cannot reach from our own instead, and from nowhere else.
mirror_registries() {
    local host own
    own="http://localhost:$(registry_port)"
    for host in docker.io gcr.io ghcr.io k8s.gcr.io mcr.microsoft.com nvcr.io public.ecr.aws quay.io registry.k8s.io; do
        mkdir -p "$run/registries/$host"
        printf 'server = "%s"\n[host."%s"]\n' "$own" "$own" >"$run/registries/$host/hosts.toml"
    done
}

# The machine may not let us raise the priority of anything when memory is short, so nothing tries to.
start_containerd() {
    local pause=engine.local/pause:1
    mirror_registries
    mkdir -p "$run/cni"
    cat >"$run/cni/pods.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true, "ipam": {
    "type": "host-local", "dataDir": "$data/addresses", "routes": [{"dst": "0.0.0.0/0"}],
    "ranges": [[{"subnet": "$subnet.128.0/17"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
    cat >"$run/containerd.toml" <<TOML
version = 2
root = "$data/containerd"
state = "$run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "$run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$pause"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$programs/cni"
conf_dir = "$run/cni"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "$run/registries"
TOML
    rm -f "$run/containerd.sock"
    start_on_node containerd containerd --config "$run/containerd.toml" --log-level warn
    # Its socket is there before all of it listens.
    await containerd ctr --address "$run/containerd.sock" --namespace k8s.io version
    python3 "$scripts/ground/images.py" "$programs/pause" "$pause" |
        ctr --address "$run/containerd.sock" --namespace k8s.io images import - >/dev/null
}

# The node's pods have cgroups of their own, below one that has to be there, with all that can be limited in it.
make_cgroup() {
    local folder controller
    awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/mounts | while read -r folder; do
        # shellcheck disable=SC2013 # They are the words of one line.
        for controller in $(cat "$folder/cgroup.controllers" 2>/dev/null); do
            echo "+$controller" 2>/dev/null >"$folder/cgroup.subtree_control" || true
        done
        mkdir -p "$folder/$cgroup"
    done
}

start_kubelet() {
    make_cgroup
    cat >"$run/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: "$pki/ca.crt"}
authorization: {mode: AlwaysAllow}
tlsCertFile: "$pki/kubelet.crt"
tlsPrivateKeyFile: "$pki/kubelet.key"
containerRuntimeEndpoint: "unix://$run/containerd.sock"
cgroupDriver: cgroupfs
cgroupRoot: "/$cgroup"
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
clusterDomain: cluster.local
clusterDNS: ["$subnet.0.2"]
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 500
kubeAPIBurst: 1000
maxPods: 250
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%}
YAML
    start_on_node kubelet "$bin/kubelet" --config "$run/kubelet.yaml" --kubeconfig "$pki/kubelet.conf" \
        --hostname-override "$node" --node-ip "$subnet.0.2"
}

# How many connections the machine may follow is not for us to say: the zeros keep it as it is.
start_proxy() {
    cat >"$run/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: "$pki/proxy.conf"}
hostnameOverride: $node
mode: iptables
clusterCIDR: "$subnet.128.0/17"
oomScoreAdj: 0
iptables: {minSyncPeriod: 0s}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
    start_on_node proxy "$bin/kube-proxy" --config "$run/proxy.yaml"
}

start_dns() { start_on_node dns "$bin/dns" "$subnet.0.2:53" "$pki/proxy.conf"; }
dns_answers() { grep -q '^listening' "$run/dns.log"; }
