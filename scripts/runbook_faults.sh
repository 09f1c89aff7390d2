#!/usr/bin/env bash
# The faults that the commands under "Fix" of docs/runbooks repair, for scripts/runbooks.py:
#   runbook_faults.sh list          the pages with a fault
#   runbook_faults.sh make PAGE     makes the fault, and prints values of placeholders as NAME=VALUE
#   runbook_faults.sh check PAGE    fails unless the fault is gone
# It runs in a scratch folder, with the settings of the installation and what scripts/runbooks_doc.sh exports.
set -euo pipefail

sql() { psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$SHARD_URL" --command="$1"; }

# A field of the JSON on standard input.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# Waits until a command succeeds, for half a minute.
within() {
    local end=$((SECONDS + 30))
    while ((SECONDS < end)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    echo "never succeeded: $*" >&2
    return 1
}

# Fails unless a query has this answer: answers EXPECTED QUERY.
answers() {
    local found
    found=$(sql "$2")
    [[ $found == "$1" ]] || { echo "the answer is $found, not $1: $2" >&2; return 1; }
}

# The status of a load with this key: load_status KEY.
load_status() {
    curl --silent --output load --write-out '%{http_code}' "$BASE_URL/cargo/load" -H "X-API-Key: $1" \
        -H 'Content-Type: application/json' --data '{"params": {"model": "svc-mock", "max_tokens": 8, "messages":
        [{"role": "user", "content": "Still there?"}]}}'
}

is_load_answered() { [[ $(load_status "$1") == "$2" ]]; }

readonly OPEN_TRANSACTIONS="select count(*) from pg_stat_activity where application_name = 'left_open'"

make_transaction() {
    PGAPPNAME=left_open setsid psql --no-psqlrc "$SHARD_URL" --command=begin --command='select pg_sleep(3600)' \
        >/dev/null 2>&1 </dev/null &
    within answers 1 "$OPEN_TRANSACTIONS"
    echo "BACKEND=$(sql "select pid from pg_stat_activity where application_name = 'left_open'")"
}

check_transaction() { within answers 0 "$OPEN_TRANSACTIONS"; }

make_loads_slow() { make_transaction; }
check_loads_slow() { check_transaction; }

make_full_disk() {
    make_transaction
    sql "select pg_create_physical_replication_slot('left_behind', true)" >/dev/null
    echo "SLOT=left_behind"
}

check_full_disk() {
    check_transaction
    answers 0 "select count(*) from pg_replication_slots where slot_name = 'left_behind'"
}

make_key_leak() {
    longshored admin key create --project "$PROJECT" --name leaked --json >leaked.json
    longshored admin person create leaver@example.com --name Leaver >person
    longshored admin signing enable "$PROJECT" >/dev/null
    longshored admin signing secret "$PROJECT" --json >secret-before.json
    within is_load_answered "$(field key <leaked.json)" 202
    echo "LEAKED_KEY_ID=$(field key_id <leaked.json)"
    echo "PERSON=leaver@example.com"
}

check_key_leak() {
    within is_load_answered "$(field key <leaked.json)" 401
    longshored admin signing secret "$PROJECT" --json >secret-after.json
    ! cmp --silent secret-before.json secret-after.json || { echo "the secret is the same" >&2; return 1; }
}

make_paused_account() {
    sql "insert into shard.provider (name, paused_at, reason) values ('$ACCOUNT', now(), 'an operator paused it')
        on conflict (name) do update set paused_at = excluded.paused_at, reason = excluded.reason"
    longshored admin provider list | grep "$ACCOUNT.*paused" >&2
}

check_paused_account() { answers 0 "select count(*) from shard.provider where paused_at is not null"; }

make_stuck_lane() { make_paused_account; }
check_stuck_lane() { check_paused_account; }

make_object_removal_held() {
    sql "update shard.bucket_marker set held_at = now(), held_reason = 'for docs-test'"
    answers 1 'select count(*) from shard.bucket_marker where held_at is not null'
}

check_object_removal_held() { answers 0 'select count(*) from shard.bucket_marker where held_at is not null'; }

# Drops the tables of the last day that sweep has made.
make_partitions_low() {
    local day tables
    day=$(sql "select max(substring(inhrelid::regclass::text from '[0-9]{8}\$')) from pg_inherits
        where inhparent = 'shard.cargo'::regclass")
    tables=$(sql "select string_agg(inhrelid::regclass::text, ', ') from pg_inherits join pg_class c on c.oid = inhrelid
        where c.relkind = 'r' and inhrelid::regclass::text like '%\\_$day'")
    sql "drop table $tables"
    echo "$day" >dropped-day
}

check_partitions_low() { answers t "select to_regclass('shard.cargo_$(<dropped-day)') is not null"; }

count_reloads() { grep --count 'catalogue reloaded' "$LOGS/serve.log" || true; }
has_reloaded() { (($(count_reloads) > $(<reloads-before))); }

make_provider_outage() { count_reloads >reloads-before; }
check_provider_outage() { within has_reloaded; }

make_recovery_pause() {
    longshored admin recovery pause >&2
    within is_load_answered "$KEY" 503
}

check_recovery_pause() {
    grep '"kind":"summary"' lost.jsonl >&2
    answers 0 'select count(*) from shard.recovery where paused_at is not null'
    within is_load_answered "$KEY" 202
    # The removal of files may stay on hold, as the page says: the next pages are about an installation without a fault.
    longshored admin files confirm >/dev/null
}

case $1 in
    list) declare -F | sed -n 's/^declare -f make_//p' | grep -v '^transaction$' | tr _ - ;;
    make | check) "$1_${2//-/_}" ;;
    *) echo "usage: runbook_faults.sh list | make PAGE | check PAGE" >&2; exit 2 ;;
esac
