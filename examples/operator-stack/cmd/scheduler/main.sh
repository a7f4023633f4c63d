#!/bin/sh
. /src/pkg/version.sh
echo "scheduler $version is running"
mkdir -p /tmp/www
echo "scheduler $version" >/tmp/www/index.html
exec httpd -f -p 8080 -h /tmp/www
