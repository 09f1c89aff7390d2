# shellcheck shell=bash
# `./dev clients`: the clients in Python and TypeScript and the command line. Their own tests and type checks, then the
# scenarios of clients/scenarios against a real server, directly and through a proxy that cuts connections.

missing_clients() {
    missing_python
    missing_node
}

install_clients() {
    python_packages clients/python/requirements.txt "$CACHE/clients"
    [[ ! -f clients/typescript/package-lock.json ]] || node_packages clients/typescript
}

# run_clients [python|typescript|cli]…
run_clients() {
    local client chosen=("$@")
    [[ $# != 0 ]] || chosen=(python typescript cli)
    for client in "${chosen[@]}"; do
        [[ $(type -t "test_client_$client") == function ]] || fail "usage: ./dev clients [python|typescript|cli]…"
    done
    need compiler postgres redis objects scanner nextest clients
    # Without servers first: these tests are quick.
    for client in "${chosen[@]}"; do
        say "tests of the client: $client"
        ("test_client_$client") || fail "the tests of the client failed: $client"
    done
    clients_servers
    for client in "${chosen[@]}"; do
        clients_caller "$client"
        say "scenarios: $client"
        ("run_scenarios_$client") || {
            keep_logs
            fail "a scenario failed: $client"
        }
    done
    say "the proxy: $(tail -n 1 "$SCRATCH/proxy.log") requests"
}

# The servers, with signatures, and the proxy before them.
clients_servers() {
    local port
    scratch_servers
    export SVC_MODELS_FILE=$PWD/scripts/conformance-models.toml
    # The bytes 0 to 31.
    export SVC_SIGNING_ROOT=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
    scratch_processes
    port=$(free_ports 1)
    export SCENARIO_BASE_URL=$BASE_URL SCENARIO_PROXY_URL=http://127.0.0.1:$port
    start "the cutting proxy" "$SCRATCH/proxy.log" \
        python3 -B clients/scenarios/cutting_proxy.py "$port" "${BASE_URL##*:}"
}

# An organization for each client, so that none uses up the rate limit of another: clients_caller NAME.
clients_caller() {
    local organization project
    organization=$(admin organization_id organization create "Client $1" --plan pro)
    project=$(admin project_id project create --organization "$organization" --slug "client-$1")
    SCENARIO_API_KEY=$(admin key key create --project "$project" --name "$1")
    SCENARIO_SIGNING_SECRET=$(admin secret signing enable "$project")
    export SCENARIO_API_KEY SCENARIO_SIGNING_SECRET
}

test_client_python() {
    local bin=$CACHE/clients/bin wheels
    cd clients/python || return
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$bin/pytest" -p no:cacheprovider -q || return
    run_interruptible "$bin/pyright" --pythonpath "$bin/python" || return
    wheels=$(mktemp -d)
    run_interruptible "$bin/python" -m build --wheel --no-isolation --outdir "$wheels" . >/dev/null || return
    rm -r "$wheels"
}

run_scenarios_python() {
    cd clients/python || return
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/clients/bin/pytest" -p no:cacheprovider -q scenarios
}

test_client_typescript() {
    cd clients/typescript || return
    run_interruptible npm run --silent build || return
    run_interruptible npm run --silent check || return
    run_interruptible npm test --silent
}

run_scenarios_typescript() {
    cd clients/typescript || return
    run_interruptible npm run --silent scenarios
}

test_client_cli() {
    run_interruptible cargo nextest run --package client --package cli --cargo-quiet
}

# Its scenarios are tests that need the servers, so that `./dev test` does not run them.
run_scenarios_cli() {
    run_interruptible cargo nextest run --package cli --cargo-quiet --run-ignored only scenarios
}
