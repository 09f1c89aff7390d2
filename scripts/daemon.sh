# shellcheck shell=bash
# Builds and migrates longshored, and starts several processes of it for tests.

build_longshored() {
    say "building longshored"
    build_programs --bin longshored
}

# One process that serves and two that work, on separate servers, configured as conformance/README.md says:
# scratch_fleet [encrypted].
scratch_fleet() {
    scratch_servers
    export SVC_MODELS_FILE=$PWD/${MODELS:-scripts/conformance-models.toml}
    [[ ${1:-} != encrypted ]] || encrypt_at_rest
    scratch_processes
}

# Encrypts what the processes will store.
encrypt_at_rest() {
    export SVC_MASTER_KEY_FILE=$SCRATCH/master-keys
    # The bytes 0 to 31.
    echo 'test AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' >"$SVC_MASTER_KEY_FILE"
    say "switching encryption at rest on"
    "$LONGSHORED" admin encryption enable >&2
}

# What the processes need: servers, settings and the schema.
scratch_servers() {
    build_longshored
    scratch
    servers_start "$SCRATCH" durable redis files
    make_databases
    servers_settings
    export SVC_ENVIRONMENT=development SVC_DEPLOYMENT=cloud SVC_LOG_FORMAT=text
    export SVC_MOCK_DELAY_SECONDS=1 SVC_CALLBACK_RETRY_DELAYS=1,1,1,1,1 SVC_CALLBACK_TIMEOUT_SECONDS=3
    export SVC_CALLBACK_ALLOW_CIDRS=127.0.0.0/16
    say "migrating"
    "$LONGSHORED" migrate >"$SCRATCH/migrate.log" 2>&1 ||
        { cat "$SCRATCH/migrate.log" >&2; fail "the migration failed"; }
}

scratch_processes() {
    local web ports port
    read -r -a ports < <(free_ports 4)
    web=${ports[3]}
    BASE_URL=http://127.0.0.1:$web
    SVC_LISTEN=127.0.0.1:$web SVC_METRICS_LISTEN=127.0.0.1:${ports[0]} \
        start "longshored serve at $BASE_URL" "$SCRATCH/serve.log" "$LONGSHORED" serve
    await "$BASE_URL" "${STARTED[-1]}" "$SCRATCH/serve.log"
    # Of the server, then of the workers.
    METRICS_URLS=("${ports[@]:0:3}")
    METRICS_URLS=("${METRICS_URLS[@]/#/http://127.0.0.1:}")
    for port in "${ports[@]:1:2}"; do
        SVC_METRICS_LISTEN=127.0.0.1:$port start "longshored work" "$SCRATCH/work-$port.log" "$LONGSHORED" work
    done
}

# Keeps the logs of processes that failed.
keep_logs() {
    mkdir -p "$STATE/logs"
    cp "$SCRATCH"/*.log "$SCRATCH"/servers/*.log "$STATE/logs/"
    say "the logs are in .dev/logs"
}
