#!/bin/sh
# Runs a component, and again whenever the reload file appears.
trap 'kill "$child" 2>/dev/null; exit 0' TERM INT
while true; do
    sh "/src/cmd/$COMPONENT/main.sh" &
    child=$!
    until [ -e /tmp/reload ]; do
        sleep 0.1
    done
    rm -f /tmp/reload
    kill "$child" 2>/dev/null
    wait "$child"
done
