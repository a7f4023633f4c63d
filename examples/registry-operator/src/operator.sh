#!/bin/sh
# Stands for an operator, and for the validator that it starts.
trap 'exit 0' TERM INT
echo "${ROLE:-operator} of $COMMIT is running"
while true; do
    sleep 1 &
    wait $!
done
