#!/bin/sh
# Every page must have made it into the site.
set -eu
for page in src/*.txt; do
    test -s "dist/$(basename "$page" .txt).html"
done
echo "all pages are there"
