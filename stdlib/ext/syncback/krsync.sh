#!/bin/sh
# rsync from a container.
#
# krsync.sh --verify VERSION: whether rsync is installed here, and new enough.
# krsync.sh OBJECT RSYNC_PATH ARGUMENTS...: rsync with these arguments, through `kubectl exec OBJECT`.
# krsync.sh --exec HOST COMMAND...: what rsync calls to reach the container; the object is in KRSYNC_OBJECT.
set -eu

complain() {
    echo "$1"
    echo 'Install/update with your favorite package manager or download from:'
    echo '  https://github.com/WayneD/rsync/releases'
    exit 1
}

verify() {
    command -v rsync > /dev/null || complain "No local rsync executable found (need version >= $1)"
    version=$(rsync --version | sed -n 's/^.*version v\{0,1\}\([0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*\).*$/\1/p' | head -n 1)
    [ -n "$version" ] || complain "Could not parse local rsync version (need version >= $1)"
    older=$(printf '%s\n%s\n' "$version" "$1" | sort -t . -k 1,1n -k 2,2n -k 3,3n | head -n 1)
    [ "$older" = "$1" ] || complain "Need local rsync version >= $1 (got $version)"
}

case $1 in
--verify)
    verify "$2"
    exit
    ;;
--exec)
    # rsync passes a user as `-l USER` before the host.
    shift
    if [ "$1" = -l ]; then
        shift 2
    fi
    shift
    # The object may have flags of its own.
    # shellcheck disable=SC2086
    exec kubectl exec -i $KRSYNC_OBJECT -- "$@"
    ;;
esac

object=$1 there=$2
shift 2
# rsync refuses a folder for partial files that does not exist.
mkdir -p /tmp/rsync.tilt

in_container() {
    # shellcheck disable=SC2086
    kubectl exec $object -- "$@" 2> /dev/null
}
case $(in_container rsync --version | head -n 1) in
*' version '[3-9]* | *' version v'[3-9]*) path= ;;
*)
    if ! in_container "$there" --version > /dev/null; then
        echo "The container has no rsync, neither in its PATH nor as $there. Install it there, or say where it is by rsync_path." >&2
        exit 1
    fi
    path=--rsync-path=$there
    ;;
esac
export KRSYNC_OBJECT="$object"
# The path of this script may have spaces, and rsync splits what it gets as its shell.
shell=$(mktemp)
trap 'rm -f "$shell"' EXIT
cat "$0" > "$shell"
rsync ${path:+"$path"} --blocking-io --rsh "sh $shell --exec" "$@"
