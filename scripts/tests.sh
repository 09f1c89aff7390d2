# shellcheck shell=bash
# The Rust tests, and those of them that other verbs run for longer.

run_tests() {
    if [[ ${1:-} == --encrypted ]]; then
        export LONGSHORE_TEST_ENCRYPTION=1
        shift
    fi
    need compiler postgres redis objects scanner nextest
    scratch
    # The data is deleted after the run, so it need not be synced to disk.
    servers_start "$SCRATCH" throwaway files
    export LONGSHORE_TEST_DATABASE_URL=$POSTGRES_URL/postgres
    export LONGSHORE_TEST_OBJECTS_URL=$OBJECTS_STORE LONGSHORE_TEST_SCANNER=$SVC_SCANNER
    local scope=(--workspace)
    ! has_option -p "$@" || scope=()
    run_interruptible cargo nextest run "${scope[@]}" "$@"
    # cargo-nextest does not run the examples in documentation.
    if [[ $# == 0 ]] && grep -rqE '^\s*//[/!] ```' crates/*/src; then
        run_interruptible cargo test --doc --workspace --quiet
    fi
}

# The ledger against its oracle, with more operations than `./dev test` runs.
run_model() {
    export LONGSHORE_MODEL_OPERATIONS=${1:-1000000} LONGSHORE_MODEL_SEED=${2:-$SRANDOM}
    run_tests --profile model --no-capture -E 'package(server) & test(ledger_model)'
    printf '{"name": "model", "ok": true, "operations": %s, "seed": "%s"}\n' \
        "$LONGSHORE_MODEL_OPERATIONS" "$LONGSHORE_MODEL_SEED"
}

# Many simulated days: whether anything grows with history.
bench_history() {
    local figures
    if has_option --small "$@"; then
        export LONGSHORE_HISTORY_DAYS=120 LONGSHORE_HISTORY_CARGO=40
    else
        export LONGSHORE_HISTORY_DAYS=400 LONGSHORE_HISTORY_CARGO=5000
    fi
    while [[ $# -gt 0 ]]; do
        case $1 in
            --small) shift; continue ;;
            --days) LONGSHORE_HISTORY_DAYS=${2:?} ;;
            --cargo) LONGSHORE_HISTORY_CARGO=${2:?} ;;
            *) fail "usage: ./dev bench history [--small] [--days N] [--cargo N]" ;;
        esac
        shift 2
    done
    figures=$(mktemp)
    export LONGSHORE_HISTORY_FIGURES=$figures
    run_tests --profile model --run-ignored only --no-capture \
        -E 'package(server) & test(history::nothing_grows_with_history)'
    cat "$figures"
    rm "$figures"
}

# A minute of the audit with few and with many open cargo.
bench_audit() {
    local verdict=$STATE/audit.json
    export LONGSHORE_AUDIT_FEW=10000 LONGSHORE_AUDIT_MANY=5000000 LONGSHORE_AUDIT_TIMED=1 LONGSHORE_AUDIT_VERDICT=$verdict
    while [[ $# -gt 0 ]]; do
        case $1 in
            --few) LONGSHORE_AUDIT_FEW=${2:?} && shift ;;
            --many) LONGSHORE_AUDIT_MANY=${2:?} && shift ;;
            --small)
                LONGSHORE_AUDIT_FEW=1000 LONGSHORE_AUDIT_MANY=50000
                unset LONGSHORE_AUDIT_TIMED
                ;;
            *) fail "usage: ./dev bench audit [--few N] [--many N] [--small]" ;;
        esac
        shift
    done
    mkdir -p "$STATE"
    rm -f "$verdict"
    run_tests --profile model -E 'package(store) & test(a_minute_of_the_audit)' || {
        [[ ! -f $verdict ]] || cat "$verdict"
        return 1
    }
    cat "$verdict"
}

# Three sets of workers on one database, with more seeds than `./dev test` runs.
run_interleavings() {
    export LONGSHORE_INTERLEAVINGS=10000 LONGSHORE_INTERLEAVINGS_FIRST=0
    while [[ $# -gt 0 ]]; do
        case $1 in
            --seeds) LONGSHORE_INTERLEAVINGS=${2:?} ;;
            --first) LONGSHORE_INTERLEAVINGS_FIRST=${2:?} ;;
            *) fail "usage: ./dev interleavings [--seeds N] [--first S]" ;;
        esac
        shift 2
    done
    run_tests --profile model -E 'package(server) & test(/^interleavings::/)'
    printf '{"name": "interleavings", "ok": true, "seeds": %s, "first": %s}\n' \
        "$LONGSHORE_INTERLEAVINGS" "$LONGSHORE_INTERLEAVINGS_FIRST"
}
