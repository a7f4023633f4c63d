#!/bin/sh
# "Compiles" every page into dist/.
set -eu
mkdir -p dist
for page in src/*.txt; do
    { echo '<pre>'; cat "$page"; echo '</pre>'; } > "dist/$(basename "$page" .txt).html"
done
