#!/bin/sh
set -e
mkdir -p bin
cp src/pulse.sh bin/pulse
