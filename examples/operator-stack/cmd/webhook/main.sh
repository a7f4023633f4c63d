#!/bin/sh
. /src/pkg/version.sh
echo "webhook $version is running"
mkdir -p /tmp/www
echo "webhook $version" >/tmp/www/index.html
exec httpd -f -p 8080 -h /tmp/www
