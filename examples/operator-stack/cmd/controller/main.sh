#!/bin/sh
. /src/pkg/version.sh
echo "controller $version is running"
mkdir -p /tmp/www
echo "controller $version" >/tmp/www/index.html
exec httpd -f -p 8080 -h /tmp/www
