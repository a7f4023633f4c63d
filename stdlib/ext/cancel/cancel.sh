#!/bin/sh
# Cancel buttons.
#
# cancel.sh operate ENGINE: adds a button for each command of a resource, which can be pressed while it runs.
# cancel.sh kill ENGINE NAME [FLAG...]: what such a button does.
set -eu
action=$1 engine=$2
dir=$(cd "$(dirname "$0")" && pwd)

stop_command() {
    name=$1
    shift
    pid=$("$engine" get cmd -o jsonpath='{.status.running.pid}' -- "$name")
    if [ -z "$pid" ]; then
        echo "Cmd $name not running"
        exit 1
    fi
    kill "$@" "$pid"
}

# Commands that belong to resources have an owner; buttons of others have none.
fields='{.metadata.name}|{.metadata.annotations.tilt\.dev/resource}|{.metadata.labels.tilt\.dev/owner-kind}|{.metadata.annotations.tilt\.dev/owner-kind}|{.metadata.ownerReferences[0].kind}|{.status.running.pid}'

add_button() {
    child=$1:cancel
    found=$("$engine" get cmd --ignore-not-found -o jsonpath="$fields" -- "$1")
    IFS='|' read -r name resource label annotation reference pid << END
$found
END
    if [ -z "$name" ]; then
        "$engine" delete cmd --ignore-not-found -- "$child"
        "$engine" delete uibutton --ignore-not-found -- "$child"
        return
    fi
    case ${label:-${annotation:-$reference}} in
    Tiltfile | CmdServer) ;;
    *) return ;;
    esac
    [ -n "$resource" ] || return 0
    disabled=false
    [ -n "$pid" ] || disabled=true
    "$engine" apply -f - << END
apiVersion: tilt.dev/v1alpha1
kind: UIButton
metadata:
  name: "$child"
spec:
  text: Cancel
  disabled: $disabled
  location: {componentType: resource, componentID: "$resource"}
---
apiVersion: tilt.dev/v1alpha1
kind: Cmd
metadata:
  name: "$child"
  annotations: {tilt.dev/resource: "$resource", tilt.dev/log-span-id: "$child"}
spec:
  args: [sh, "$dir/cancel.sh", kill, "$engine", "$name"]
  startOn: {uiButtons: ["$child"]}
END
}

case $action in
kill)
    shift 2
    stop_command "$@"
    ;;
operate)
    echo 'operator:cancel adds a Cancel button to each command of a resource'
    "$engine" get cmd --watch -o name | while read -r name; do
        add_button "${name#cmd.tilt.dev/}" < /dev/null
    done
    ;;
esac
