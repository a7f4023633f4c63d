#!/bin/sh
# Tunnels for ports of resources.
#
# ngrok.sh run ENGINE FILE: runs ngrok with the tunnels of a file; the resource starts anew when the file changes.
# ngrok.sh operate ENGINE FILE: adds a button to each resource with links, and writes the file.
# ngrok.sh toggle ENGINE NAME: what such a button does.
set -eu
action=$1 engine=$2
dir=$(cd "$(dirname "$0")" && pwd)
label=tilt.dev/managed-by=tilt-extensions.ngrok

run() {
    default=${TILT_NGROK_DEFAULT_CONFIG_FILE:-$HOME/.config/ngrok/ngrok.yml}
    which=--none
    ! grep -q addr "$1" || which=--all
    file=$1
    set -- start
    [ ! -f "$default" ] || set -- "$@" --config "$default"
    set -x
    exec ngrok "$@" --config "$file" "$which"
}

# One button for each resource that has links to this machine.
add_button() {
    name=$1 child=ngrok:$1
    links=$("$engine" get uiresource -o jsonpath='{range .status.endpointLinks[*]}{.url}{"\n"}{end}' -- "$name")
    ports=$(printf '%s\n' "$links" | sed -n 's|^http://localhost:\([0-9]*\).*|\1|p' | tr '\n' ' ' | sed 's/ $//')
    if [ -z "$ports" ]; then
        for kind in uibutton configmap cmd; do
            "$engine" delete "$kind" --ignore-not-found -- "$child"
        done
        return
    fi
    enabled=$("$engine" get configmap --ignore-not-found -o jsonpath='{.data.enabled}' -- "$child")
    text='start ngrok' icon=play_circle_outline
    [ "$enabled" != true ] || text='stop ngrok' icon=stop_circle
    "$engine" apply -f - << END
apiVersion: tilt.dev/v1alpha1
kind: UIButton
metadata:
  name: "$child"
  annotations: {tilt.dev/resource: "$name", tilt.dev/log-span-id: "$child"}
  labels: {tilt.dev/managed-by: tilt-extensions.ngrok}
spec:
  text: "$text"
  iconName: "$icon"
  location: {componentType: resource, componentID: "$name"}
---
apiVersion: tilt.dev/v1alpha1
kind: Cmd
metadata:
  name: "$child"
  annotations: {tilt.dev/resource: "$name", tilt.dev/log-span-id: "$child"}
  labels: {tilt.dev/managed-by: tilt-extensions.ngrok}
spec:
  args: [sh, "$dir/ngrok.sh", toggle, "$engine", "$name"]
  startOn: {uiButtons: ["$child"]}
---
apiVersion: tilt.dev/v1alpha1
kind: ConfigMap
metadata:
  name: "$child"
  labels: {tilt.dev/managed-by: tilt-extensions.ngrok}
data: {ports: "$ports", resource: "$name", enabled: "${enabled:-false}"}
END
}

write_tunnels() {
    file=$1
    version=$TILT_NGROK_CONFIG_VERSION
    if [ "$version" = 1 ]; then
        tls='bind_tls: false'
        auth="auth: \"$TILT_NGROK_AUTH\""
    else
        tls="schemes: [$TILT_NGROK_CONFIG_TLS_SCHEME]"
        auth="basic_auth: [\"$TILT_NGROK_AUTH\"]"
    fi
    [ -n "$TILT_NGROK_AUTH" ] || auth=
    query='{range .items[?(@.data.enabled=="true")]}{.data.resource}{"\t"}{.data.ports}{"\n"}{end}'
    new=$(
        printf 'version: "%s"\ntunnels:\n' "$version"
        "$engine" get configmap -l "$label" -o jsonpath="$query" | while IFS="$(printf '\t')" read -r name ports; do
            for port in $ports; do
                printf '  "%s:%s":\n    proto: http\n    addr: %s\n    %s\n    %s\n' "$name" "$port" "$port" "$tls" "$auth"
            done
        done
    )
    [ "$new" = "$(cat "$file")" ] || printf '%s' "$new" > "$file"
}

operate() {
    file=$1
    "$engine" get uiresource --watch -o name | while read -r name; do
        add_button "${name#uiresource.tilt.dev/}" < /dev/null
    done &
    buttons=$!
    trap 'kill "$buttons" 2>/dev/null' EXIT
    "$engine" get configmap --watch -o name | while read -r _; do
        write_tunnels "$file" < /dev/null
    done
}

toggle() {
    child=ngrok:$1
    enabled=$("$engine" get configmap -o jsonpath='{.data.enabled}' -- "$child")
    new=true text='stop ngrok' icon=stop_circle
    [ "$enabled" != true ] || new=false text='start ngrok' icon=play_circle_outline
    "$engine" patch uibutton -p "{\"spec\":{\"text\":\"$text\",\"iconName\":\"$icon\"}}" -- "$child"
    "$engine" patch configmap -p "{\"data\":{\"enabled\":\"$new\"}}" -- "$child"
    if [ "$new" = false ]; then
        echo 'ngrok tunnel stopped'
        return
    fi
    echo 'ngrok tunnel started'
    sleep 2
    echo 'Current ngrok tunnels:'
    curl -sSL http://localhost:4040/api/tunnels | tr ',{' '\n\n' | sed -n 's/^"\(name\|public_url\)":"\(.*\)"$/\2/p'
}

"$action" "$3"
