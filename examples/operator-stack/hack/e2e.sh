#!/bin/sh
# Stands for the end-to-end tests: all deployments of the stack are there.
kubectl --namespace "$1" rollout status deployment --timeout=60s
