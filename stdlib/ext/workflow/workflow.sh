#!/bin/sh
# workflow.sh ACTION WORKFLOW RESOURCE [LINE...]: keeps the steps of a workflow, and runs them.
set -eu
action=$1
state=${TILT_WORKFLOW_STATE_PATH:-$(cd "$(dirname "$0")" && pwd)}
steps=$state/workflow_cmds-$2-$3.tmp
reset=$state/workflow_reset_cmds-$2-$3.tmp
index=$state/workflow_index-$2-$3.tmp
shift 3

run_step() {
    at=$(cat "$index")
    if [ "$at" -eq 0 ]; then
        echo 'no step to replay'
        exit 0
    fi
    eval "$(sed -n "${at}p" "$steps")"
}

case $action in
write) printf '%s\n' "$@" > "$steps" ;;
write-reset) printf '%s\n' "$@" > "$reset" ;;
start-over) echo 0 > "$index" ;;
play)
    at=$(($(cat "$index") + 1))
    [ "$at" -le "$(wc -l < "$steps")" ] || at=1
    echo "$at" > "$index"
    run_step
    ;;
replay) run_step ;;
rewind)
    echo 0 > "$index"
    eval "$(cat "$reset")"
    ;;
esac
