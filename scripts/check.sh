# shellcheck shell=bash
# `./dev check`, one step after the other, and the query cache it compares.

check() {
    need compiler postgres nextest machete deny promtool book
    scratch_schemas
    export RUSTDOCFLAGS='-D warnings'
    # The quick checks come first.
    step "format" cargo fmt --all --check
    step "conformance copy" compare_conformance
    step "dependencies" cargo deny --log-level warn check bans licenses sources
    step "advisories" python3 -B scripts/advisories.py
    step "notice" compare_notice
    step "errors page" python3 -B scripts/errors_page.py check
    step "performance page" python3 -B scripts/long.py check
    step "package" check_package
    step "alert rules and dashboards" check_rules
    step "guide" write_book --check
    step "known bugs" bugs --check
    step "unused dependencies" cargo machete
    step "code rules" cargo nextest run --package tidy --cargo-quiet
    step "lints" lints
    step "query cache" compare_queries
    step "documentation" cargo doc --workspace --no-deps "${QUIET[@]}"
}

step() {
    local name=$1 began=$SECONDS
    shift
    say "$name"
    run_interruptible "$@" || fail "$name: see above"
    say "$name: $((SECONDS - began)) s"
}

# Lints and the query cache share one compilation: while clippy reads the code, the macros
# query the database and write what it answered.
lints() { with_queries "$SCRATCH/queries" cargo clippy --workspace --all-targets "${QUIET[@]}" -- -D warnings; }

compare_queries() {
    diff --recursive --brief crates/store/.sqlx "$SCRATCH/queries" >&2 && return
    echo "crates/store/.sqlx is stale: ./dev prepare" >&2
    return 1
}

compare_notice() {
    python3 scripts/notice.py | diff NOTICE - >&2 && return
    echo "NOTICE is stale: ./dev notice" >&2
    return 1
}

# The copy is compared if the original is next to the checkout.
compare_conformance() {
    [[ -d ../shared/conformance ]] || return 0
    diff --recursive --brief --exclude=__pycache__ ../shared/conformance conformance >&2
}

prepare() {
    need compiler postgres
    scratch_schemas
    run_interruptible with_queries "$SCRATCH/queries" cargo check --package store --all-targets
    rm -rf crates/store/.sqlx
    cp -r "$SCRATCH/queries" crates/store/.sqlx
    say "crates/store/.sqlx: $(find crates/store/.sqlx -name '*.json' | wc -l) queries"
}

# Compiles crate store against the scratch database: with_queries FOLDER COMMAND…
with_queries() {
    local folder=$1 root=crates/store/src/lib.rs code=0
    shift
    mkdir -p "$folder"
    # The macros run only when the crate is recompiled. Afterwards the time stamp is restored.
    touch -r "$root" "$SCRATCH/untouched"
    touch "$root"
    SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$folder DATABASE_URL=$POSTGRES_URL/postgres "$@" || code=$?
    touch -r "$SCRATCH/untouched" "$root"
    return "$code"
}
