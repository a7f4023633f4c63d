#!/bin/sh
# Lists all port forwards. The argument is the engine.
set -eu
engine=$1
echo '---- Port forwards in use ----'
"$engine" get portforward -o name | while read -r name; do
    name=${name#portforward.tilt.dev/}
    resource=$("$engine" get portforward -o jsonpath='{.metadata.annotations.tilt\.dev/resource}' -- "$name")
    "$engine" get portforward -o jsonpath='{range .spec.forwards[*]}{.containerPort} -> {.host}:{.localPort}{"\n"}{end}' \
        -- "$name" | sed "s|^|$resource:|"
done
echo '------------------------------'
