#!/bin/sh
# build.sh FOLDER [URL]: builds the package of the current folder, and uploads it if there is a URL.
set -eu
if [ $# -lt 2 ]; then
    exec python3 setup.py sdist --dist-dir="$1"
fi
exec python3 setup.py sdist --dist-dir="$1" upload -r "$2"
