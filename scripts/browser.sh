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
        # The tests may run at the same time.
        export LONGSHORE_BROWSER_FOLDER=$STATE/pages
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
    [[ ${2:-} != files ]] || need objects scanner
    scratch
    servers_start "$SCRATCH" "$1" redis "${@:2}"
    export LONGSHORE_BROWSER_POSTGRES=$POSTGRES_URL LONGSHORE_BROWSER_REDIS=$SVC_REDIS_URL
    export LONGSHORE_BROWSER_LONGSHORED=$LONGSHORED LONGSHORE_BROWSER_FOLDER=$STATE/browser
    LONGSHORE_BROWSER_CHROMIUM=$(command -v chromium)
    export LONGSHORE_BROWSER_CHROMIUM
    [[ ${2:-} != files ]] || export LONGSHORE_BROWSER_STORE=$OBJECTS_STORE LONGSHORE_BROWSER_SCANNER=$SVC_SCANNER
}
