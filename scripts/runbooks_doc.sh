# shellcheck shell=bash disable=SC2034
# Runs the commands of docs/runbooks against processes without a fault, and those under "Fix" after a fault is made.

runbooks_doc() {
    DOCS_PAGE=docs/runbooks
    local port
    scratch_servers
    runbooks_provider
    # For the page on leaked secrets.
    SVC_SIGNING_ROOT=$(openssl rand -base64 32)
    export SVC_SIGNING_ROOT
    # The pages search for messages in logs in JSON.
    export SVC_LOG_FORMAT=json SVC_AUDIT_FILE=$SCRATCH/audit.jsonl SVC_MODELS_FILE=$PWD/scripts/up-models.toml
    scratch_processes
    export PROCESSES="${STARTED[*]: -3}"
    create_docs_caller
    runbooks_load
    port=$(free_ports 1)
    runbooks_certificate "$port"
    export CONTROL_URL=$POSTGRES_URL/control SHARD_URL=$POSTGRES_URL/north LOGS=$SCRATCH
    export PATH=$CARGO_TARGET_DIR/debug:$PATH
    say "running the commands of docs/runbooks"
    mkdir "$SCRATCH/pasted"
    (cd "$SCRATCH/pasted" && run_interruptible python3 -B "$OLDPWD/scripts/runbooks.py" "$LONGSHORED" \
        "${METRICS_URLS[@]}") >"$SCRATCH/pasted.log" 2>&1 || fail_docs "a command failed"
    cat "$SCRATCH/pasted.log" >&2
}

# A provider account, which the simulator answers. No model has a route to it.
runbooks_provider() {
    start_simulator
    export ACCOUNT=openai-main OPENAI_API_KEY=key-of-openai SVC_PROVIDERS_FILE=$SCRATCH/providers.toml
    cat >"$SVC_PROVIDERS_FILE" <<END
[[provider]]
name = "$ACCOUNT"
kind = "openai"
credential_env = "OPENAI_API_KEY"
base_url = "$SIMULATOR_URL/openai/v1"
END
}

# One cargo, so that loads, batches and callbacks have metrics.
runbooks_load() {
    curl --silent --fail --output /dev/null "$BASE_URL/cargo/load" -H "X-API-Key: $KEY" \
        -H 'Content-Type: application/json' --data '{"params": {"model": "svc-mock", "max_tokens": 8, "messages":
        [{"role": "user", "content": "Still there?"}]}}'
}

# A server with a certificate, for the page on certificates: runbooks_certificate PORT
runbooks_certificate() {
    local end=$((SECONDS + START_SECONDS))
    export TLS_ADDRESS=127.0.0.1:$1 TLS_FILE=$SCRATCH/tls.pem
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -keyout "$SCRATCH/tls.key" \
        -out "$TLS_FILE" 2>"$SCRATCH/tls.log"
    start "openssl s_server" "$SCRATCH/tls.log" openssl s_server -www -accept "$TLS_ADDRESS" \
        -key "$SCRATCH/tls.key" -cert "$TLS_FILE"
    while ((SECONDS < end)); do
        free_port "$1" || return 0
        sleep 0.1
    done
    fail "openssl s_server does not listen"
}
