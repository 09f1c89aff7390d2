# shellcheck shell=bash
# `./dev trace-picture`: draws the spans that real processes export of one cargo.

draw_trace() {
    local picture=${1:-docs/pictures/trace.svg} port body spans turn
    need compiler postgres redis objects scanner
    read -r port < <(free_ports 1)
    # Only the load below is traced: it carries a sampled traceparent.
    export SVC_TRACING_ENDPOINT=http://127.0.0.1:$port SVC_TRACING_SAMPLE=0
    MODELS=scripts/up-models.toml scratch_fleet
    spans=$SCRATCH/spans.jsonl
    start "a collector at $SVC_TRACING_ENDPOINT" "$SCRATCH/collector.log" python3 scripts/trace_collector.py "$port" "$spans"
    body='{"callback_url": "http://127.0.0.1:'$port'/callback", "params": {"model": "svc-mock", "max_tokens": 64,
        "messages": [{"role": "user", "content": "Hello, world! [mock:delay=2s]"}]}}'
    for ((turn = 0; turn < 100; turn++)); do
        free_port "$port" || break
        sleep 0.1
    done
    curl --silent --show-error --fail --output /dev/null "$BASE_URL/cargo/load" --header "X-API-Key: $(trace_key)" \
        --header 'Content-Type: application/json' --data "$body" \
        --header 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    say "waiting for its spans, with two attempts of the callback"
    for ((turn = 0; turn < 600; turn++)); do
        (($(count_spans "$spans") < 7)) || break
        sleep 0.1
    done
    (($(count_spans "$spans") == 7)) || fail "not all spans were exported: $(count_spans "$spans") of 7"
    python3 -B tools/monitoring/trace_picture.py "$spans" "$picture"
    say "$picture shows them"
}

# The load, gather, outcome, two attempts, the batch and its submission.
count_spans() { cat "$1" 2>/dev/null | grep -o '"startTimeUnixNano"' | wc -l; }

# The key of a new project.
trace_key() {
    local organization project
    organization=$(admin organization_id organization create Example --plan pro)
    project=$(admin project_id project create --organization "$organization" --slug first-project)
    admin key key create --project "$project" --name first-key
}
