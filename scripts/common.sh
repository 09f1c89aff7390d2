# shellcheck shell=bash disable=SC2034
# Shared by all verbs: output, folders, ports, processes and cleanup.

# Build output and tools are outside the checkout, so that a fresh clone can use them.
CACHE=${LONGSHORE_CACHE:-${HOME:-/var/tmp}/.cache/longshore}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
export PATH=$CACHE/tools/bin:$PATH

STATE=$PWD/.dev
LONGSHORED=$CARGO_TARGET_DIR/debug/longshored

# Builds show their progress, except in CI logs.
QUIET=()
[[ -z ${CI:-} ]] || QUIET=(--quiet)

# Set by `scratch`: a folder that is removed when the verb ends, and the processes to stop then.
SCRATCH=
STARTED=()
FOREGROUND_PID=

say() { printf '\033[2m·\033[0m %s\n' "$*" >&2; }
if [[ ! -t 2 ]]; then say() { printf '· %s\n' "$*" >&2; }; fi

fail() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# Builds programs of the workspace, unless .ci/run has: build_programs ARGUMENTS…
# Each verb builds all members, because they choose the features of their dependencies together.
build_programs() { [[ -n ${LONGSHORE_BUILT:-} ]] || cargo build --workspace "$@" "${QUIET[@]}"; }

# Whether an option is among the arguments: has_option -m "$@".
has_option() {
    local option=$1 argument
    shift
    for argument in "$@"; do [[ $argument == "$option"* ]] && return 0; done
    return 1
}

# Prints this many different free ports, outside the range from which the kernel takes the ports of
# connections, so that a port is still free when its server starts.
free_ports() {
    python3 - "$1" <<'END'
import pathlib, random, socket, sys
below = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
held = []
while len(held) < int(sys.argv[1]):
    each = socket.socket()
    try:
        each.bind(("127.0.0.1", random.randrange(12000, max(below, 13000))))
    except OSError:
        continue
    held.append(each)
print(*(each.getsockname()[1] for each in held))
END
}

# Whether a port is free.
free_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Creates a scratch folder that the user `postgres` can reach too. It is in TMPDIR, if that is set.
scratch() {
    SCRATCH=$(mktemp -d "${TMPDIR:-/var/tmp}/longshore.XXXXXX")
    chmod 755 "$SCRATCH"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# Stops all started processes, the last first, and removes the folder. Prints nothing, so that
# the summary of the tests is the last line.
clean_up() {
    local code=$? index
    trap - EXIT INT TERM HUP
    [[ -z $FOREGROUND_PID ]] || stop_process "$FOREGROUND_PID"
    for ((index = ${#STARTED[@]} - 1; index >= 0; index--)); do stop_process "${STARTED[index]}"; done
    rm -rf "$SCRATCH"
    exit "$code"
}

# Runs a command so that a signal to this script takes effect at once, not when the command ends.
run_interruptible() {
    local code=0
    # In a separate process group, so that it can be stopped with all its children.
    set -m
    "$@" &
    set +m
    FOREGROUND_PID=$!
    wait "$FOREGROUND_PID" || code=$?
    FOREGROUND_PID=
    return "$code"
}

# Starts a command in the background, detached from the terminal: start NAME LOG COMMAND…
start() {
    local name=$1 log=$2
    shift 2
    say "starting $name"
    setsid "$@" >>"$log" 2>&1 </dev/null &
    STARTED+=($!)
}

# Sends SIGTERM to a process and its group, and SIGKILL if it does not stop in time: stop_process PID [SECONDS].
stop_process() {
    local pid=$1 seconds=${2:-40} turn
    kill -- "-$pid" 2>/dev/null || return 0
    for ((turn = 0; turn < seconds * 10; turn++)); do
        running "$pid" || return 0
        sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
}

# A zombie process is not running.
running() {
    local state
    state=$(ps -o stat= -p "$1" 2>/dev/null) && [[ $state != Z* ]]
}

# How long a start may take on a slow machine. A wait ends as soon as the server is ready, or has exited.
START_SECONDS=120

# Waits until a server is ready and all its dependencies are healthy: await URL PID LOG.
await() {
    local url=$1 pid=$2 log=$3 end=$((SECONDS + START_SECONDS))
    while ((SECONDS < end)); do
        [[ $(curl --silent --fail --max-time 10 "$url/ready") != *'"status":"ok"'* ]] || return 0
        running "$pid" || break
        sleep 0.1
    done
    tail -n 20 "$log" >&2
    curl --silent --max-time 10 "$url/ready" >&2 || true
    fail "$url is not ready; above is the end of $log"
}
