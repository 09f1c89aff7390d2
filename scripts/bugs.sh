# shellcheck shell=bash
# Puts known bugs back, one at a time, and expects that the tests find each. Without the bug, the same tests pass.

# The bug, and what must find it: a test (its crate and name), and seeds of the interleavings (the first and how many).
known_bugs() {
    cat <<'END'
claim-without-key-share server leases::every_claim_waits_for_fencing_that_is_under_way 0 400
fencing-blocks-renewal store node::a_claim_in_flight_delays_fencing_and_never_renewal 0 400
resend-race server resends::a_resend_during_the_recording_of_an_attempt_gets_the_next_number 0 400
job-after-lost-claim server isolation::a_job_that_was_created_after_its_claim_was_lost_is_cancelled 0 400
unbounded-gather server isolation::a_lane_with_enough_batches_is_not_gathered_further 0 400
connection-in-transaction store pool::a_transaction_that_is_dropped_closes_its_connection 0 400
END
}

# Always the same crates: others would choose other features, and everything would be compiled again.
BUG_PACKAGES=(-p server -p store)

# bugs [--seeds N] [--check] [NAME]: --check only says whether the patches still apply and the tests still exist, those
# of `bugs attacks` too.
bugs() {
    local seeds='' check='' only=''
    if [[ ${1:-} == attacks ]]; then
        attacks "${@:2}"
        return
    fi
    while (($#)); do
        case $1 in
            --seeds) seeds=$2 && shift 2 ;;
            --check) check=1 && shift ;;
            *) only=$1 && shift ;;
        esac
    done
    [[ ! $check ]] || { check_bugs && return; }
    local bug name crate test first count
    start_bug_servers
    rm -f "$STATE/bugs/control.log"

    local chosen=() tests='' missed=() seed_of=() last_seed=-1 control=true seed
    while read -r name crate test first count; do
        [[ $name == *"$only"* ]] || continue
        chosen+=("$name $crate $test $first ${seeds:-$count}")
        tests+="${tests:+ | }package($crate) & test(=$test)"
    done < <(known_bugs)
    [[ ${#chosen[@]} != 0 ]] || fail "there is no bug $only"
    say "without a bug, ${#chosen[@]} tests pass"
    run_bug_tests control "${BUG_PACKAGES[@]}" -E "$tests" || control=false
    for bug in "${chosen[@]}"; do
        read -r name crate test first count <<<"$bug"
        find_bug "$name" "$crate" "$test" "$first" "$count" || missed+=("$name")
        seed_of+=("\"$name\": ${seed:-null}")
        ((${seed:--1} <= last_seed)) || last_seed=$seed
    done
    if ((last_seed >= 0)); then
        say "without a bug, the seeds up to $last_seed pass"
        run_seeds control 0 $((last_seed + 1)) || control=false
    fi
    local ok=false seeds_found
    [[ ${#missed[@]} != 0 || $control == false ]] || ok=true
    seeds_found=$(IFS=, && echo "${seed_of[*]}")
    printf '{"name": "bugs", "ok": %s, "bugs": %s, "found": %s, "missed": "%s", "passes_without": %s, "seeds": {%s}}\n' \
        "$ok" "${#chosen[@]}" "$((${#chosen[@]} - ${#missed[@]}))" "${missed[*]:-}" "$control" "$seeds_found"
    [[ $ok == true ]]
}

# Starts the servers of the tests, and a database with which changed queries are checked.
start_bug_servers() {
    local migration
    need compiler postgres redis objects scanner nextest
    scratch
    servers_start "$SCRATCH" throwaway files
    export LONGSHORE_TEST_DATABASE_URL=$POSTGRES_URL/postgres
    export LONGSHORE_TEST_OBJECTS_URL=$OBJECTS_STORE LONGSHORE_TEST_SCANNER=$SVC_SCANNER
    query postgres --command='create database queries'
    for migration in crates/store/migrations/{control,shard}/*.sql; do
        query queries --single-transaction --file="$migration" >/dev/null
    done
    mkdir -p "$STATE/bugs"
    prepare_bug_checkout
}

check_bugs() {
    local patch name crate test rest
    for patch in scripts/bugs/*.patch; do
        git apply --check "$patch" || fail "$patch does not apply any more: make it again"
        name=$(basename "$patch" .patch)
        grep -q "^$name " < <(known_bugs; known_attacks) || fail "no table names a test for $patch"
    done
    while read -r name crate test rest; do
        [[ -f scripts/bugs/$name.patch ]] || fail "there is no scripts/bugs/$name.patch"
        grep -rqsE "fn ${test##*::}\(" "crates/$crate/"{src,tests/it} || fail "$name: there is no test $test in $crate"
    done < <(known_bugs; known_attacks)
    check_attacks
}

# A copy of the last commit. It stays, with what was built from it, so that the next run compiles little.
prepare_bug_checkout() {
    BUG_CHECKOUT=$CACHE/bugs/$(cksum <<<"$PWD" | cut -d ' ' -f 1)
    git worktree prune
    [[ -e $BUG_CHECKOUT/.git ]] || git worktree add --quiet --force --detach "$BUG_CHECKOUT" HEAD
    git -C "$BUG_CHECKOUT" reset --quiet --hard "$(git rev-parse HEAD)"
    (cd "$BUG_CHECKOUT" && node_packages crates/dashboard/web)
}

# Puts a bug back. Its test and one of its seeds must fail: find_bug NAME CRATE TEST FIRST COUNT. Sets `seed`.
find_bug() {
    local name=$1 crate=$2 test=$3 first=$4 count=$5 found=0
    seed=
    git -C "$BUG_CHECKOUT" apply "$PWD/scripts/bugs/$name.patch"
    say "$name (output: $STATE/bugs/$name.log)"
    rm -f "$STATE/bugs/$name.log"
    if run_bug_tests "$name" "${BUG_PACKAGES[@]}" -E "package($crate) & test(=$test)"; then
        say "$name was not found by $test"
        found=1
    fi
    if run_seeds "$name" "$first" "$count"; then
        say "$name was not found by the $count seeds from $first on"
        found=1
    else
        seed=$(grep -oE 'seed [0-9]+ failed' "$STATE/bugs/$name.log" | grep -oE '[0-9]+' | head -n 1)
        say "$name: found by seed ${seed:-?}"
    fi
    git -C "$BUG_CHECKOUT" apply --reverse "$PWD/scripts/bugs/$name.patch"
    return "$found"
}

# The interleavings until the first seed that fails: run_seeds LOG FIRST COUNT.
run_seeds() {
    local LONGSHORE_INTERLEAVINGS_FIRST=$2 LONGSHORE_INTERLEAVINGS=$3
    export LONGSHORE_INTERLEAVINGS_FIRST LONGSHORE_INTERLEAVINGS
    run_bug_tests "$1" "${BUG_PACKAGES[@]}" --profile model --max-fail 1:immediate -E 'test(/^interleavings::/)'
}

# Runs tests of the copy: run_bug_tests LOG ARGUMENTS… Returns 1 if a test fails.
run_bug_tests() {
    local log=$STATE/bugs/$1.log code=0
    shift
    (
        cd "$BUG_CHECKOUT" || exit 1
        # A separate folder: cargo would take what was built with the bug for what this checkout needs.
        export CARGO_TARGET_DIR=$CACHE/bugs-target
        # A bug may change a query, which is then checked against the database.
        SQLX_OFFLINE=false DATABASE_URL=$POSTGRES_URL/queries cargo nextest run "$@"
    ) >>"$log" 2>&1 </dev/null || code=$?
    # Code 100: tests failed. Any other code says nothing about the bug.
    case $code in
        0) return 0 ;;
        100) return 1 ;;
        *) tail -n 20 "$log" >&2 && fail "the tests could not run (code $code): $log" ;;
    esac
}
