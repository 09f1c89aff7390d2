# shellcheck shell=bash
# Libraries of others against what we write: the providers' own clients against the simulator, with another base URL,
# their request types against what our encoders write, those of Standard Webhooks against signed callbacks, and the
# receivers of docs/receivers.md.

missing_sdk() { missing_python; }

# A virtual environment, separate from the one of the conformance tests.
install_sdk() { python_packages crates/simulator/sdk/requirements.txt "$CACHE/sdk"; }

# Where Debian's packages of Go code are.
readonly GO_PACKAGES=/usr/share/gocode

missing_webhooks() {
    missing_python
    missing_node
    have go || MISSING+=(golang-go)
    [[ -d $GO_PACKAGES/src/github.com/lib/pq ]] || MISSING+=(golang-github-lib-pq-dev)
}

install_webhooks() {
    python_packages tools/webhooks/requirements.txt "$CACHE/webhooks"
    node_packages tools/webhooks
}

run_sdk() {
    need compiler sdk
    scratch
    # Arguments select tests of the providers' clients.
    [[ $# != 0 ]] || { run_webhooks; run_request_types; }
    start_simulator
    say "pytest $*"
    cd crates/simulator/sdk || return
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/sdk/bin/pytest" -p no:cacheprovider "$@"
}

# The libraries of Standard Webhooks in Python and JavaScript verify what an example of the domain signs, and so do
# the receivers of docs/receivers.md.
run_webhooks() {
    need compiler webhooks
    say "building the example signed_callbacks"
    build_programs --example signed_callbacks
    export SIGNED_CALLBACKS=$CARGO_TARGET_DIR/debug/examples/signed_callbacks
    say "pytest tools/webhooks"
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/webhooks/bin/pytest" -p no:cacheprovider \
        --rootdir tools/webhooks tools/webhooks
    say "node --test tools/webhooks"
    run_interruptible node --test --test-reporter=spec tools/webhooks/standardwebhooks.test.mjs \
        tools/webhooks/receivers.test.mjs
    say "go test tools/webhooks"
    mkdir "$SCRATCH/receiver"
    sed -n '/^```go$/,/^```$/p' docs/receivers.md | sed '1d;$d' >"$SCRATCH/receiver/receiver.go"
    cp tools/webhooks/receiver_test.go "$SCRATCH/receiver"
    # The driver for PostgreSQL is a Debian package.
    (cd "$SCRATCH/receiver" && GO111MODULE=off GOPATH=$GO_PACKAGES run_interruptible go test -v .)
}

# The request types of the providers' clients check what an example of outbound encodes.
run_request_types() {
    say "building the example encoded_requests"
    build_programs --example encoded_requests
    export ENCODED_REQUESTS=$CARGO_TARGET_DIR/debug/examples/encoded_requests
    say "pytest crates/outbound/sdk"
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/sdk/bin/pytest" -p no:cacheprovider \
        --rootdir crates/outbound/sdk crates/outbound/sdk
}

# Builds the simulator, starts it, exports SIMULATOR_URL, and waits until it has printed its addresses.
start_simulator() {
    local log=$SCRATCH/simulator.log port end
    say "building the simulator"
    build_programs --bin simulator
    port=$(free_ports 1)
    export SIMULATOR_URL=http://127.0.0.1:$port
    start "simulator at $SIMULATOR_URL" "$log" "$CARGO_TARGET_DIR/debug/simulator" --listen "127.0.0.1:$port"
    end=$((SECONDS + START_SECONDS))
    while ((SECONDS < end)); do
        ! grep -q '^admin' "$log" || return 0
        running "${STARTED[-1]}" || break
        sleep 0.1
    done
    cat "$log" >&2
    fail "the simulator does not listen"
}
