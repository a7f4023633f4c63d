#!/bin/sh
# Stands for the manager.
trap 'exit 0' TERM INT
echo "manager 1 is running as $(id -u) with $*"
while true; do
    sleep 1 &
    wait $!
done
