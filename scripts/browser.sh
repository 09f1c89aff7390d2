# shellcheck shell=bash
# The dashboard in a real browser: tests, screenshots and page times. tools/browser starts an
# installation for each test; the servers that they share are started here.

# All tests, or those whose file name contains a word: run_browser [PATTERN].
run_browser() {
    local tests=(tools/browser/tests/*"${1:-}"*.test.mjs)
    [[ -e ${tests[0]} ]] || fail "no test in tools/browser/tests has '$1' in its name"
    need compiler postgres redis browser
    build_longshored
    if grep --quiet 'files: true' "${tests[@]}"; then browser_servers throwaway files; else browser_servers throwaway; fi
    rm -rf "$STATE/browser"
    say "node --test ${tests[*]}"
    run_interruptible node --test --test-reporter=spec "${tests[@]}"
}

screenshots() {
    local pictures=${1:-$STATE/screenshots} which=()
    [[ ${1:-} != --guide ]] || pictures=docs/pictures which=(guide)
    need compiler postgres redis browser
    build_longshored
    browser_servers throwaway files
    run_interruptible node tools/browser/screenshots.mjs "$pictures" "${which[@]}"
}

bench_pages() {
    need compiler postgres redis browser
    if has_option --small "$@"; then
        build_longshored
        browser_servers throwaway
    else
        say "building longshored (release)"
        cargo build --workspace --bin longshored --release "${QUIET[@]}"
        LONGSHORED=$CARGO_TARGET_DIR/release/longshored
        browser_servers durable
    fi
    run_interruptible node tools/browser/bench.mjs "$@"
}

# PostgreSQL and Redis, and with `files` an object store and a scanner: browser_servers durable|throwaway [files].
browser_servers() {
    scratch
    if [[ ${2:-} == files ]]; then
        need objects scanner
        scratch_files
    fi
    postgres_start "$SCRATCH/postgres" "$1"
    redis_start "$SCRATCH"
    export LONGSHORE_BROWSER_POSTGRES=$POSTGRES_URL LONGSHORE_BROWSER_REDIS=$SVC_REDIS_URL
    export LONGSHORE_BROWSER_LONGSHORED=$LONGSHORED LONGSHORE_BROWSER_FOLDER=$STATE/browser
    LONGSHORE_BROWSER_CHROMIUM=$(command -v chromium)
    export LONGSHORE_BROWSER_CHROMIUM
    if [[ ${2:-} == files ]]; then
        objects_await "$SCRATCH/objects"
        export LONGSHORE_BROWSER_STORE=$OBJECTS_STORE LONGSHORE_BROWSER_SCANNER=$SCANNER_ADDRESS
    fi
}
