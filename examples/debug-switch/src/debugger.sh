#!/bin/sh
# Stands for a debugger that runs a program: debugger --listen=:PORT PROGRAM
echo "debugger listens on ${1#--listen=}"
exec sh "$2"
