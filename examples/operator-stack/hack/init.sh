#!/bin/sh
echo "certificates are ready"
