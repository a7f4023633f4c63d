#!/bin/sh
# Says which resources wait for others. The argument is the engine.
set -eu
query='{range .items[*]}{.metadata.name}{"\t"}{.status.waiting.reason}{"\t"}{.status.waiting.on[*].name}{"\n"}{end}'
echo '---- Resources waiting for dependencies ----'
"$1" get uiresource -o jsonpath="$query" | awk -F '\t' '
    $2 == "waiting-for-dep" {
        n = split($3, on, " ")
        list = "\047" on[1] "\047"
        for (i = 2; i <= n; i++) list = list (i < n ? ", " : " and ") "\047" on[i] "\047"
        print "Resource \047" $1 "\047 is blocking on " list "."
        found = 1
    }
    END { if (!found) print "No resources blocked at the moment." }'
echo '--------------------------------------------'
echo
