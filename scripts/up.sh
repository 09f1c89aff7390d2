# shellcheck shell=bash
# `./dev up` and what goes with it. The folder .dev/up holds all there is to know:
#   data   where databases and objects lie   *.pid   who runs, and since when
#   env    settings of the server            said    what was printed

UP=$STATE/up

up() {
    if up_runs; then
        say "already running; ./dev down stops it"
        cat "$UP/said"
        return
    fi
    # What an interrupted attempt left.
    [[ ! -d $UP ]] || down
    need compiler postgres redis objects scanner
    build_longshored
    mkdir -p "$UP"
    # Half an installation is of no use to anybody.
    trap up_failed EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mktemp -d /var/tmp/longshore.XXXXXX >"$UP/data"
    chmod 755 "$(<"$UP/data")"
    up_files "$(<"$UP/data")"
    postgres_start "$(<"$UP/data")/postgres" durable
    make_databases
    objects_await "$(<"$UP/data")/objects"
    up_start
    trap - EXIT INT TERM HUP
    cat "$UP/said"
}

up_failed() {
    local code=$?
    trap - EXIT
    say "not up: taking it down again"
    down
    exit "$code"
}

# Every process that was started still runs.
up_runs() {
    local name
    [[ -f $UP/said ]] || return 1
    for name in objects scanner redis receiver longshored; do is_noted "$UP/$name.pid" || return 1; done
}

up_files() {
    objects_start "$1/objects"
    note "$UP/objects.pid" "${STARTED[-1]}"
    scanner_start "$1/scanner"
    note "$UP/scanner.pid" "${STARTED[-1]}"
}

up_start() {
    local web metrics receiver
    read -r web metrics receiver < <(free_ports 3)
    ! free_port 8080 || web=8080
    redis_start "$UP"
    note "$UP/redis.pid" "${STARTED[-1]}"
    objects_settings
    export SVC_SCANNER=$SCANNER_ADDRESS
    export SVC_LISTEN=127.0.0.1:$web SVC_METRICS_LISTEN=127.0.0.1:$metrics SVC_MODELS_FILE=$PWD/scripts/up-models.toml
    # A minute is long for somebody who watches.
    export SVC_MOCK_DELAY_SECONDS=10
    export SVC_ENVIRONMENT=development SVC_CALLBACK_ALLOW_CIDRS=127.0.0.0/16 SVC_LOG_FORMAT=text
    (umask 077 && export -p | sed -n 's|^declare -x SVC_|export SVC_|p' >"$UP/env")
    say "migrating"
    "$LONGSHORED" migrate >"$UP/migrate.log" 2>&1 || { cat "$UP/migrate.log" >&2; fail "the migration failed"; }
    start "the callback receiver" "$UP/callbacks.log" python3 -u scripts/receiver.py "$receiver"
    note "$UP/receiver.pid" "${STARTED[-1]}"
    start "longshored all" "$UP/longshored.log" "$LONGSHORED" all
    note "$UP/longshored.pid" "${STARTED[-1]}"
    await "http://127.0.0.1:$web" "${STARTED[-1]}" "$UP/longshored.log"
    local organization project key
    organization=$(admin organization_id organization create "Harbour" --plan pro)
    admin organization_id credit add "$organization" 10 --note "to try it with" >/dev/null
    project=$(admin project_id project create --organization "$organization" --slug first-project)
    key=$(admin key key create --project "$project" --name first-key)
    (umask 077 && {
        tell "http://127.0.0.1:$web" "$key" "http://127.0.0.1:$receiver/"
        tell_files "http://127.0.0.1:$web" "$key"
        tell_dashboard
        printf '\nSee it arrive:  ./dev callbacks\nStop it all:    ./dev down\n'
    } >"$UP/said")
}

tell() {
    cat <<END

Longshore is up, with control and two shards on PostgreSQL, limits in Redis, files in SeaweedFS, scanned by clamd.

  base URL    $1
  docs        $1/docs
  key         $2
  logs        .dev/up/longshored.log

Load a cargo; about two seconds later its callback arrives (without the directive: 10 seconds):

  curl -s $1/cargo/load -H 'X-API-Key: $2' -H 'Content-Type: application/json' -d '{"callback_url": "$3", "params": {"model": "svc-mock", "max_tokens": 64, "messages": [{"role": "user", "content": "Hello, harbour! [mock:delay=2s]"}]}}'

svc-mock is free. Your organization has 10 dollars of credit, and harbour-small costs some of it:

  curl -s $1/cargo/load -H 'X-API-Key: $2' -H 'Content-Type: application/json' -d '{"callback_url": "$3", "params": {"model": "harbour-small", "max_tokens": 64, "messages": [{"role": "user", "content": "What does a harbour cost?"}]}}'

See what is held while it is under way, and what is charged ten seconds later, in nano-dollars under "cost":

  curl -s $1/cargo/CARGO_ID/tracking -H 'X-API-Key: $2'
END
}

# The link of the first start, as the server said it.
tell_dashboard() {
    printf '\nSee all of it on the dashboard; this link, good once, makes you its operator:\n\n  %s\n' \
        "$(grep -o 'http[^ ]*/dashboard/setup?pass=[0-9a-f]*' "$UP/longshored.log" | head -n 1)"
}

# A picture of one pixel, another each time. The grant's fields become options of curl, which posts them to the store.
tell_files() {
    cat <<END

Upload a picture; docs/files.md says what happens and what can be done with it:

  (cd "\$(mktemp -d)" && printf 'GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377!\376\010%08d\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;' \$RANDOM >pixel.gif && curl -s $1/files -H 'X-API-Key: $2' -H 'Content-Type: application/json' -o session -d '{"filename": "pixel.gif", "media_type": "image/gif", "size_bytes": 47, "sha256": "'"\$(sha256sum pixel.gif | cut -c 1-64)"'"}' && sed 's/.*"fields":{\([^}]*\)}.*/\1/; s/","/"\n"/g' session | sed 's/^"\([^"]*\)":"/form-string = "\1=/' >grant && curl -s -K grant -F file=@pixel.gif "\$(grep -o '"url":"[^"]*"' session | cut -d '"' -f 4)" && curl -s $1/files/"\$(grep -o 'file_[0-9a-f]*' session | head -n 1)"/complete -H 'X-API-Key: $2' -d '{}')
END
}

down() {
    [[ -d $UP ]] || { say "nothing is up"; return; }
    # The store would take its time, and nobody will ask for what it holds.
    local name
    local -A patience=([objects]=2)
    for name in longshored receiver redis scanner objects; do
        if is_noted "$UP/$name.pid"; then
            say "stopping $name"
            end "$(cut -d' ' -f1 "$UP/$name.pid")" "${patience[$name]:-40}"
        fi
    done
    if [[ -s $UP/data ]]; then
        say "stopping PostgreSQL"
        postgres_stop "$(<"$UP/data")/postgres" fast
        objects_clear "$(<"$UP/data")/objects"
        rm -rf "$(<"$UP/data")"
    fi
    rm -rf "$UP"
    rmdir "$STATE" 2>/dev/null || true
    say "nothing is left"
}

callbacks() {
    [[ -f $UP/callbacks.log ]] || fail "nothing is up: ./dev up"
    exec tail -n +1 -f "$UP/callbacks.log"
}

console() {
    use_up
    [[ -n ${SVC_CONTROL_DATABASE_URL:-} ]] || fail "nothing is up: ./dev up"
    exec psql "${SVC_CONTROL_DATABASE_URL%/*}/${1:-north}"
}

# The settings of `up`, unless the caller brought some.
use_up() {
    if [[ -z ${SVC_CONTROL_DATABASE_URL:-}${SVC_DATABASE_URL:-} && -f $UP/env ]]; then
        # shellcheck source=/dev/null
        source "$UP/env"
    fi
}

# One field of what an admin command made: admin FIELD ARGUMENTS…
admin() {
    local field=$1
    shift
    "$LONGSHORED" admin "$@" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$field"
}

# A process id alone may by now be somebody else's: its birth is noted with it.
note() { echo "$2 $(born "$2")" >"$1"; }

is_noted() {
    local pid birth
    [[ -f $1 ]] && read -r pid birth <"$1" && running "$pid" && [[ $(born "$pid") == "$birth" ]]
}

born() { ps -o lstart= -p "$1" | tr -s ' ' '-'; }
