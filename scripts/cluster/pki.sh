# shellcheck shell=bash disable=SC2154
# Who is who in the test cluster: keys, certificates and the kubeconfigs that hold them. To be sourced by cluster.sh.

# Makes a key, and a certificate of the cluster's authority for a name in a group, and for addresses if there are some.
certify() {
    local file=$1 subject=$2 addresses=${3:-}
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" \
        -keyout "$pki/$file.key" -out "$pki/$file.csr" 2>/dev/null
    openssl x509 -req -in "$pki/$file.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -days 3650 -out "$pki/$file.crt" \
        ${addresses:+-extfile <(printf 'subjectAltName=%s\n' "$addresses")} 2>/dev/null
    rm "$pki/$file.csr"
}

# Prints a kubeconfig for one who has a certificate.
kubeconfig() {
    local user=$1 entry="kind-$name"
    cat <<YAML
apiVersion: v1
kind: Config
current-context: $entry
contexts:
- name: $entry
  context: {cluster: $entry, user: $entry}
clusters:
- name: $entry
  cluster:
    server: https://$subnet.0.1:6443
    certificate-authority-data: $(base64 -w0 "$pki/ca.crt")
users:
- name: $entry
  user:
    client-certificate-data: $(base64 -w0 "$pki/$user.crt")
    client-key-data: $(base64 -w0 "$pki/$user.key")
YAML
}

make_pki() {
    local user
    [[ -s $KUBECONFIG ]] && return
    rm -rf "$pki"
    (umask 077 && mkdir -p "$pki")
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -days 3650 \
        -keyout "$pki/ca.key" -out "$pki/ca.crt" 2>/dev/null
    openssl ecparam -name prime256v1 -genkey -noout -out "$pki/accounts.key"
    certify apiserver /O=system:masters/CN=kube-apiserver \
        "IP:$subnet.0.1,IP:$subnet.64.1,IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    certify kubelet "/O=system:nodes/CN=system:node:$node" "IP:$subnet.0.2,DNS:$node"
    certify manager /CN=system:kube-controller-manager
    certify scheduler /CN=system:kube-scheduler
    certify proxy /CN=system:kube-proxy
    certify admin /O=system:masters/CN=kubernetes-admin
    for user in kubelet manager scheduler proxy; do kubeconfig "$user" >"$pki/$user.conf"; done
    (umask 077 && kubeconfig admin >"$KUBECONFIG.new")
    mv "$KUBECONFIG.new" "$KUBECONFIG"
}
