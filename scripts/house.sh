# shellcheck shell=bash disable=SC2034
# What every verb shares: words on the screen, folders, ports, and tidying up.

# Build output and tools live outside the checkout, so that a fresh clone is warm.
CACHE=${LONGSHORE_CACHE:-${HOME:-/var/tmp}/.cache/longshore}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
export PATH=$CACHE/tools/bin:$PATH

STATE=$PWD/.dev
LONGSHORED=$CARGO_TARGET_DIR/debug/longshored

# People want to see a build move; a log does not.
QUIET=()
[[ -z ${CI:-} ]] || QUIET=(--quiet)

# Set by `scratch`: a folder that goes when the verb ends, and who to end with it.
SCRATCH=
STARTED=()
ATTENDED=
# Seconds that one of them has to end, where 40 are too many.
declare -A PATIENCE=()

say() { printf '\033[2m·\033[0m %s\n' "$*" >&2; }
if [[ ! -t 2 ]]; then say() { printf '· %s\n' "$*" >&2; }; fi

fail() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# Whether an option stands among the arguments: given -m "$@".
given() {
    local option=$1 argument
    shift
    for argument in "$@"; do [[ $argument == "$option"* ]] && return 0; done
    return 1
}

# So many ports that nobody listens on, all different.
free_ports() {
    python3 - "$1" <<'END'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in held:
    each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in held))
END
}

# Whether nobody listens on a port.
free_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A scratch folder on a disk that the user `postgres` can reach too.
scratch() {
    SCRATCH=$(mktemp -d /var/tmp/longshore.XXXXXX)
    chmod 755 "$SCRATCH"
    trap tidy_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# Ends what was started, the last first, and removes the folder. Says nothing:
# the last words belong to the tests.
tidy_up() {
    local code=$? index
    trap - EXIT INT TERM HUP
    [[ -z $ATTENDED ]] || end "$ATTENDED"
    for ((index = ${#STARTED[@]} - 1; index >= 0; index--)); do end "${STARTED[index]}"; done
    postgres_stop "$SCRATCH/postgres" immediate
    objects_clear "$SCRATCH/objects"
    rm -rf "$SCRATCH"
    exit "$code"
}

# Runs a command so that a signal to us is acted on at once, not when it ends.
attend() {
    local code=0
    # In a group of its own, so that it can be ended with all that it started.
    set -m
    "$@" &
    set +m
    ATTENDED=$!
    wait "$ATTENDED" || code=$?
    ATTENDED=
    return "$code"
}

# Starts a command in the background, out of reach of the terminal: start NAME LOG COMMAND…
start() {
    local name=$1 log=$2
    shift 2
    say "starting $name"
    setsid "$@" >>"$log" 2>&1 </dev/null &
    STARTED+=($!)
}

# SIGTERM to a process and its group, then SIGKILL to who has not gone after a while: end PID [SECONDS].
end() {
    local pid=$1 seconds=${2:-${PATIENCE[$1]:-40}} turn
    kill -- "-$pid" 2>/dev/null || return 0
    for ((turn = 0; turn < seconds * 10; turn++)); do
        running "$pid" || return 0
        sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
}

# A process that has ended but was not waited for is not running.
running() {
    local state
    state=$(ps -o stat= -p "$1" 2>/dev/null) && [[ $state != Z* ]]
}

# Waits until a server takes traffic and is well, down to store and scanner: await URL PID LOG.
await() {
    local url=$1 pid=$2 log=$3 turn
    for ((turn = 0; turn < 300; turn++)); do
        [[ $(curl --silent --fail --max-time 2 "$url/ready") != *'"status":"ok"'* ]] || return 0
        running "$pid" || break
        sleep 0.1
    done
    tail -n 20 "$log" >&2
    curl --silent --max-time 2 "$url/ready" >&2 || true
    fail "$url is not well; above is the end of $log"
}
