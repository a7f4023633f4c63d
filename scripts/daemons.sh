# shellcheck shell=bash disable=SC2154
# Daemons of our own in a folder of their own: starting, finding, ending them, and the locks of those who use them.
# To be sourced, after lib.sh, by a script that has set `home` (the folder), `run` (in it, what is of this run) and
# `cgroup` (what the cgroups of its containers are named after), and that has the functions `up`, `down` and `print_env`.

# Starts a daemon that outlives this script. It must not hold our locks, nor the pipe of whoever waits for our output.
start() {
    local name=$1
    shift
    : >"$run/$name.log"
    setsid "$@" </dev/null >>"$run/$name.log" 2>&1 7>&- 9>&- &
    echo $! >"$run/$name.pid"
    disown
}

# After a reboot the process with that number may be somebody else's, so its command line has to name our folder.
alive() {
    local pid
    pid=$(cat "$run/$1.pid" 2>/dev/null) && grep -qzsF "$home/" "/proc/$pid/cmdline"
}

# Waits until a check succeeds, for as long as the daemon lives.
await() {
    local name=$1 pid deadline=$((SECONDS + 60))
    shift
    pid=$(<"$run/$name.pid")
    until "$@" >/dev/null 2>&1; do
        if ! kill -0 "$pid" 2>/dev/null || ((SECONDS > deadline)); then
            tail -n 20 "$run/$name.log" >&2
            fail "$name does not come up (its log is above)"
        fi
        sleep 0.05
    done
}

# Ends one daemon for sure. Nothing that it might still want to save is of use to anybody.
stop() {
    if alive "$1"; then
        end "$(<"$run/$1.pid")"
    fi
    rm -f "$run/$1.pid"
}

# Kills processes by their ids, and waits until they are gone.
end() {
    local pid
    kill -KILL "$@" 2>/dev/null || true
    for pid in "$@"; do
        until is_gone "$pid"; do sleep 0.02; done
    done
}

# A killed process loses its memory first and its sockets later: until then nobody else can listen where it did. A zombie
# whose threads are all gone has nothing left, and only waits for its parent.
is_gone() {
    local threads=("/proc/$1/task"/*)
    [[ ! -e /proc/$1 ]] || { ((${#threads[@]} == 1)) && grep -qs '^State:[[:space:]]*[ZX]' "/proc/$1/status"; }
}

cgroup_folders() { find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" 2>/dev/null || true; }

# Ends what runs in containers, and the helper that containerd keeps beside each, which names its socket.
end_containers() {
    local pids
    mapfile -t pids < <(
        cgroup_folders | while read -r folder; do cat "$folder/cgroup.procs" 2>/dev/null || true; done | sort -un
        grep -lzsxF -- "$run/containerd.sock" /proc/[0-9]*/cmdline | cut -d/ -f3
    )
    ((${#pids[@]} == 0)) || end "${pids[@]}"
    cgroup_folders | while read -r folder; do rmdir "$folder" 2>/dev/null || true; done
}

unmount_all() {
    local path
    awk '{print $2}' /proc/mounts | { grep -F "$home/" || true; } | sort -r | while read -r path; do
        umount -l "$(printf %b "$path")"
    done
}

# Prints the first two numbers of a network, in a range of them, that no route of this machine leads to.
free_subnet() {
    local second
    for second in $(seq "$1" "$2"); do
        if ! grep -qE "(^| )10\.$second\." <<<"$(ip -4 route show table all)"; then
            echo "10.$second"
            return
        fi
    done
    fail "no network from 10.$1.0.0 to 10.$2.0.0 is free"
}

# Where another Docker runs, or a firewall, nothing passes a chain unless a rule allows it. Ours are named after us.
open_firewall() {
    local chain=$1 rule
    shift
    rule=("$chain" "$@" -m comment --comment "$cgroup" -j ACCEPT)
    if grep -qx -- "-P $chain DROP" <<<"$(iptables -S "$chain" 2>/dev/null)" && ! iptables -C "${rule[@]}" 2>/dev/null; then
        iptables -I "${rule[@]}"
    fi
}

close_firewall() {
    local chain=$1 rule
    iptables -S "$chain" 2>/dev/null | grep -F -- "$cgroup" | while read -r _ rule; do
        # shellcheck disable=SC2086 # They are the words of one rule.
        iptables -D ${rule//\"/}
    done || true
}

show_daemons() {
    local name
    for name in "$@"; do
        if alive "$name"; then
            printf '%-10s runs, pid %s\n' "$name" "$(<"$run/$name.pid")"
        else
            printf '%-10s does not run\n' "$name"
        fi
    done
}

# Only one of us changes it at a time.
lock() {
    mkdir -p "$home"
    exec 9>"$home/.lock"
    flock -n 9 || { say "waiting for another to finish with $home" && flock 9; }
}
unlock() { exec 9>&-; }

# Holds a shared lock meanwhile, so that the last one out is known.
run_command() {
    lock
    up
    exec 7>"$home/.users"
    flock -s 7
    unlock
    trap leave EXIT
    eval "$(print_env)"
    "$@" 7>&-
}

leave() {
    lock
    if flock -n -x 7 && [[ ! -e $home/.keep ]]; then
        down
    fi
}
