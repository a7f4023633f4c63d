#!/bin/sh
# Stands for the program.
trap 'exit 0' TERM INT
echo "pulse 1 is running"
while true; do
    sleep 1 &
    wait $!
done
