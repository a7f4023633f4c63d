#!/bin/sh
# Stands for the controller.
trap 'exit 0' TERM INT
echo "controller 1 is running"
while true; do
    sleep 1 &
    wait $!
done
