#!/bin/sh
# Keeps kubefwd running for the namespaces that resources are deployed to.
#
# kubefwd.sh ENGINE FILE: writes the namespaces to the file, and forwards them as root.
# kubefwd.sh --forward FILE KUBEFWD KUBECONFIG: the part that runs as root; starts anew when the file changes.
set -u

if [ "$1" = --forward ]; then
    file=$2 kubefwd=$3
    export KUBECONFIG="$4"
    child=
    trap '[ -z "$child" ] || kill "$child"; exit 0' INT TERM
    seen=
    while [ -e "$file" ]; do
        now=$(ls -l --time-style=full-iso "$file" 2>/dev/null || stat -f %Fm "$file")
        if [ "$now" != "$seen" ]; then
            seen=$now
            if [ -n "$child" ]; then
                kill "$child"
                wait "$child"
                child=
            fi
            flags=$(sed -n 's/^\(..*\)$/-n=\1/p' "$file")
            if [ -n "$flags" ]; then
                # shellcheck disable=SC2086
                "$kubefwd" svc $flags &
                child=$!
            else
                echo 'No namespaces to kubefwd'
            fi
        fi
        sleep 1
    done
    [ -z "$child" ] || kill "$child"
    exit 0
fi

engine=$1 file=$2
kubefwd=$(command -v kubefwd) || {
    echo 'kubefwd not found. Did you forget to install it?'
    echo 'Run: brew install txn2/tap/kubefwd'
    exit 1
}
kubeconfig=${KUBECONFIG:-$HOME/.kube/config}
touch "$file"
chmod a+r "$file"

write_namespaces() {
    found=$("$engine" get kd -o=jsonpath='{.items[*].spec.watches[*].namespace}')
    new=$(echo "$found ${TILT_CFG_NAMESPACES:-}" | tr -s ' ' '\n' | sed '/^$/d' | sort -u)
    [ "$new" = "$(cat "$file")" ] || echo "$new" > "$file"
}
write_namespaces
"$engine" get kd --watch -o name | while read -r _; do write_namespaces; done &
watcher=$!
trap 'kill "$watcher" 2>/dev/null; rm -f "$file"' EXIT
trap 'exit 0' INT TERM

# Root may not be able to read the folder of this script, so it gets the text.
text=$(cat "$0")
set -- sh -c "$text" sh --forward "$file" "$kubefwd" "$kubeconfig"
if [ "$(id -u)" = 0 ]; then
    "$@"
elif command -v osascript > /dev/null; then
    copy=$(mktemp)
    printf '%s\n' "$text" > "$copy"
    osascript -e "do shell script \"sh $copy --forward $file $kubefwd $kubeconfig\" with administrator privileges"
elif command -v pkexec > /dev/null; then
    pkexec --disable-internal-agent "$@"
elif command -v kdesudo > /dev/null; then
    kdesudo --comment 'kubefwd needs to be root. Please enter your password.' -- "$@"
elif command -v gksudo > /dev/null; then
    gksudo --sudo-mode -- "$@"
else
    echo 'No sudo runner found'
    exit 1
fi
