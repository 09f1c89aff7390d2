# shellcheck shell=bash
# Runs heavy verbs, and records each result with its commit in docs/performance.jsonl.

# One verb per line, the lightest first. `soak` is last, because each of its trials has run once before.
long_verbs() {
    cat <<'END'
bench load
bench bulk
bench journey
bench journey --encrypted
bench journey --tracing 0.01
bench journey --tracing 1
bench gather
bench batches
bench videos
bench routes
bench waits
bench pages
bench history
bench audit
chaos kill --release
chaos connections --release
chaos restart --release
chaos shard --release
chaos limits --release
chaos redis --release
chaos files --release
chaos scanner --large --release
chaos store --release
chaos server --schemas 100 --release
chaos freeze --release
chaos partition --release
chaos promote --release
chaos promote --hosts list --release
chaos restore --release
chaos failover --release
chaos failover --asynchronous --release
chaos statements --release
chaos overload --release
chaos neighbours --release
chaos idle --release
chaos markers --release
chaos alerts --release
chaos cancel --release
chaos run --release
chaos listen --release
chaos upgrade --release
chaos submit --release
model
interleavings
bugs
bugs attacks
test --encrypted
conformance --encrypted
fuzz api
package --release
release --trial --twice
image --trial
compose --trial
soak --minutes 120
END
}

# long [WORD]: all verbs, or those whose line contains the word. long VERB ARGUMENTS…: this verb, such as
# `soak --minutes 30` or `compare COMMIT`. long --table: only the tables of the page.
long() {
    local verb
    mkdir -p "$STATE/long"
    if [[ $# -gt 1 ]]; then
        long_verb "$*"
    elif [[ ${1:-} != --table ]]; then
        while read -r verb; do
            [[ $verb == *"${1:-}"* ]] || continue
            long_verb "$verb"
        done < <(long_verbs)
    fi
    python3 -B scripts/long.py table
}

# Runs one verb and records its result, also if it fails.
long_verb() {
    local words began=$SECONDS log code=0 commit program
    read -r -a words <<<"$1"
    # Before the verb builds the program: a commit may follow while it runs.
    commit=$(long_commit)
    program=$(long_program)
    log=$STATE/long/${1//[^a-z0-9]/-}.log
    say "./dev $1 (its output: $log)"
    ./dev "${words[@]}" >"$log" 2>&1 </dev/null || code=$?
    LONG_VERB=$1 LONG_CODE=$code LONG_SECONDS=$((SECONDS - began)) LONG_COMMIT=$commit LONG_PROGRAM=$program \
        python3 -B scripts/long.py add "$log"
}

# The commit that is measured. The record and its page do not change the program.
long_commit() {
    local commit changes
    commit=$(git rev-parse --short=12 HEAD)
    changes=$(git status --porcelain -- . ':!docs/performance.jsonl' ':!docs/performance.md')
    echo "$commit${changes:+-dirty}"
}

# The last commit that changed more than documents, records and the gate: later ones have the same program.
long_program() {
    local commit changes program=(. ':!docs' ':!*.md' ':!llms.txt' ':!.ci' ':!.github')
    commit=$(git log -1 --format=%h --abbrev=12 -- "${program[@]}")
    changes=$(git status --porcelain -- "${program[@]}")
    echo "$commit${changes:+-dirty}"
}
