# shellcheck shell=bash
# Runs every heavy verb once, and keeps each result with its commit.

# One verb per line, the lightest first. `soak` is last, because each of its trials has run once before.
long_verbs() {
    cat <<'END'
bench load
bench journey
bench gather
bench batches
bench videos
bench pages
chaos kill
chaos connections
chaos restart
chaos shard
chaos limits
chaos redis
chaos files
chaos scanner --large
chaos store
chaos server
chaos freeze --release
chaos partition --release
chaos promote --release
chaos statements --release
chaos overload --release
chaos neighbours --release
chaos submit
model
interleavings
soak --minutes 120
END
}

# long [WORD]: all verbs, or those whose line contains the word. long --table: only the known results.
long() {
    local results=$STATE/long/results.jsonl verb
    mkdir -p "$STATE/long"
    if [[ ${1:-} != --table ]]; then
        while read -r verb; do
            [[ $verb == *"${1:-}"* ]] || continue
            long_verb "$results" "$verb"
        done < <(long_verbs)
    fi
    long_table "$results"
}

# Runs one verb and adds a line to the results, also if it fails.
long_verb() {
    local results=$1 words began=$SECONDS log
    read -r -a words <<<"$2"
    log=$STATE/long/${2//[^a-z0-9]/-}.log
    say "./dev $2 (its output: $log)"
    local code=0
    ./dev "${words[@]}" >"$log" 2>&1 </dev/null || code=$?
    LONG_VERB=$2 LONG_CODE=$code LONG_SECONDS=$((SECONDS - began)) \
        LONG_COMMIT=$(git describe --always --dirty --abbrev=12 --exclude '*') \
        python3 scripts/long.py add "$results" "$log"
}

long_table() {
    [[ -s $1 ]] || fail "nothing was run yet"
    python3 scripts/long.py table "$1"
}
