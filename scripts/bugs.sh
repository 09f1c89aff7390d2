# shellcheck shell=bash
# Puts known bugs back, one at a time, and expects that a test finds each.

# The bug, then the tests that must find it: arguments of cargo-nextest.
bug_tests() {
    cat <<'END'
claim-without-key-share interleavings::
fencing-blocks-renewal interleavings::
resend-race interleavings::
job-after-lost-claim interleavings::
unbounded-gather interleavings:: isolation::
connection-in-transaction interleavings:: pool::
END
}

# bugs [--seeds N] [--check] [NAME]: --check only says whether the patches still apply.
bugs() {
    local seeds=400 check='' only='' name tests found=() missed=()
    while (($#)); do
        case $1 in
            --seeds) seeds=$2 && shift 2 ;;
            --check) check=1 && shift ;;
            *) only=$1 && shift ;;
        esac
    done
    if [[ $check ]]; then
        for name in scripts/bugs/*.patch; do
            git apply --check "$name" || fail "$name does not apply any more: make it again"
        done
        return
    fi
    need compiler postgres redis objects scanner nextest
    scratch
    servers_start "$SCRATCH" throwaway files
    export LONGSHORE_TEST_DATABASE_URL=$POSTGRES_URL/postgres LONGSHORE_INTERLEAVINGS=$seeds
    export LONGSHORE_TEST_OBJECTS_URL=$OBJECTS_STORE LONGSHORE_TEST_SCANNER=$SVC_SCANNER
    query postgres --command='create database queries'
    for name in crates/store/migrations/{control,shard}/*.sql; do
        query queries --single-transaction --file="$name" >/dev/null
    done
    while read -r name tests; do
        [[ $name == *"$only"* ]] || continue
        if bug_is_found "$name" "$tests"; then found+=("$name"); else missed+=("$name"); fi
    done < <(bug_tests)
    printf '{"name": "bugs", "ok": %s, "found": %s, "missed": "%s", "seeds": %s}\n' \
        "$([[ ${#missed[@]} == 0 ]] && echo true || echo false)" "${#found[@]}" "${missed[*]:-}" "$seeds"
    [[ ${#missed[@]} == 0 ]]
}

# Runs the tests in a copy of the checkout with the bug.
bug_is_found() {
    local name=$1 tests copy=$SCRATCH/$1 log=$STATE/bugs/$1.log
    read -r -a tests <<<"$2"
    mkdir -p "$STATE/bugs"
    git worktree add --quiet --detach "$copy" HEAD
    git -C "$copy" apply "$PWD/scripts/bugs/$name.patch"
    say "$name (output: $log)"
    local code=0
    (
        cd "$copy" || exit 1
        node_packages crates/dashboard/web
        # A separate folder: cargo would take what was built with the bug for what this checkout needs.
        export CARGO_TARGET_DIR=$CACHE/bugs-target
        # The bug may change a query, which is then checked against the database.
        touch crates/store/src/lib.rs
        SQLX_OFFLINE=false DATABASE_URL=$POSTGRES_URL/queries cargo nextest run --workspace --no-fail-fast \
            --profile model "${tests[@]}"
    ) >"$log" 2>&1 </dev/null || code=$?
    git worktree remove --force "$copy"
    # Code 100: tests failed. Anything else says nothing about the bug.
    case $code in
        100) grep -E '^ *FAIL |^seed [0-9]+ failed' "$log" | sort -u | head -n 3 ;;
        0) say "$name was not found" && return 1 ;;
        *) tail -n 20 "$log" >&2 && fail "$name: the tests could not run (code $code)" ;;
    esac
}
