#!/bin/sh
set -e
mkdir -p bin
cat src/*.sh >bin/manager
