#!/usr/bin/env python3
"""Prints one line for each resource of a `tiltfile-result` read from stdin."""

import json
import sys

text = sys.stdin.read()
if not text.strip():
    sys.exit(1)
for manifest in json.loads(text)["Manifests"] or []:
    labels = ", ".join(sorted(manifest.get("Labels") or {}))
    after = ", ".join(manifest.get("ResourceDependencies") or [])
    line = f"  {manifest['Name']:16} {labels:12} {'after ' + after if after else ''}"
    print(line.rstrip())
