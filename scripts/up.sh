# shellcheck shell=bash
# `./dev up` and related verbs. The folder .dev/up has:
#   data   the folder of databases and objects   *.pid          process ids and start times
#   env    settings of the server                instructions   what was printed

UP=$STATE/up

up() {
    if up_runs; then
        say "already running; ./dev down stops it"
        cat "$UP/instructions"
        return
    fi
    # Remove the rest of an interrupted attempt.
    [[ ! -d $UP ]] || down
    need compiler postgres redis objects scanner
    build_longshored
    mkdir -p "$UP"
    # An incomplete installation is removed.
    trap up_failed EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mktemp -d /var/tmp/longshore.XXXXXX >"$UP/data"
    chmod 755 "$(<"$UP/data")"
    servers_start "$(<"$UP/data")" durable redis files
    record_process "$UP/servers.pid" "${STARTED[-1]}"
    make_databases
    up_start
    trap - EXIT INT TERM HUP
    cat "$UP/instructions"
}

up_failed() {
    local code=$? pid
    trap - EXIT
    say "start failed: stopping everything"
    for pid in "${STARTED[@]}"; do stop_process "$pid"; done
    down
    exit "$code"
}

# Whether all started processes still run.
up_runs() {
    local name
    [[ -f $UP/instructions ]] || return 1
    for name in servers receiver longshored; do is_recorded "$UP/$name.pid" || return 1; done
}

up_start() {
    local web metrics receiver
    read -r web metrics receiver < <(free_ports 3)
    ! free_port 8080 || web=8080
    servers_settings
    export SVC_LISTEN=127.0.0.1:$web SVC_METRICS_LISTEN=127.0.0.1:$metrics SVC_MODELS_FILE=$PWD/scripts/up-models.toml
    # A minute is too long for a person who watches.
    export SVC_MOCK_DELAY_SECONDS=10
    export SVC_ENVIRONMENT=development SVC_CALLBACK_ALLOW_CIDRS=127.0.0.0/16 SVC_LOG_FORMAT=text
    (umask 077 && export -p | sed -n 's|^declare -x SVC_|export SVC_|p' >"$UP/env")
    say "migrating"
    "$LONGSHORED" migrate >"$UP/migrate.log" 2>&1 || { cat "$UP/migrate.log" >&2; fail "the migration failed"; }
    start "the callback receiver" "$UP/callbacks.log" python3 -u scripts/receiver.py "$receiver"
    record_process "$UP/receiver.pid" "${STARTED[-1]}"
    start "longshored all" "$UP/longshored.log" "$LONGSHORED" all
    record_process "$UP/longshored.pid" "${STARTED[-1]}"
    await "http://127.0.0.1:$web" "${STARTED[-1]}" "$UP/longshored.log"
    local organization project key
    organization=$(admin organization_id organization create "Example" --plan pro)
    admin organization_id credit add "$organization" 10 --note "for trying it out" >/dev/null
    project=$(admin project_id project create --organization "$organization" --slug first-project)
    key=$(admin key key create --project "$project" --name first-key)
    (umask 077 && {
        print_load_commands "http://127.0.0.1:$web" "$key" "http://127.0.0.1:$receiver/"
        print_upload_command "http://127.0.0.1:$web" "$key"
        print_dashboard_link
        printf '\nSee it arrive:  ./dev callbacks\nStop it all:    ./dev down\n'
    } >"$UP/instructions")
}

print_load_commands() {
    cat <<END

Longshore is up, with control and two shards on PostgreSQL, limits in Redis, files in SeaweedFS, scanned by clamd.

  base URL    $1
  docs        $1/docs
  key         $2
  logs        .dev/up/longshored.log

Load a cargo. Its callback arrives about two seconds later (10 seconds without the directive):

  curl -s $1/cargo/load -H 'X-API-Key: $2' -H 'Content-Type: application/json' -d '{"callback_url": "$3", "params": {"model": "svc-mock", "max_tokens": 64, "messages": [{"role": "user", "content": "Hello, world! [mock:delay=2s]"}]}}'

svc-mock is free. Your organization has 10 dollars of credit, and example-small costs some of it:

  curl -s $1/cargo/load -H 'X-API-Key: $2' -H 'Content-Type: application/json' -d '{"callback_url": "$3", "params": {"model": "example-small", "max_tokens": 64, "messages": [{"role": "user", "content": "What does a batch cost?"}]}}'

See the amount held while it is in flight, and the charge ten seconds later, in nano-dollars under "cost":

  curl -s $1/cargo/CARGO_ID/tracking -H 'X-API-Key: $2'
END
}

# Prints a new setup link.
print_dashboard_link() {
    printf '\nSee all of it on the dashboard. This setup link, valid once, makes you the operator:\n\n  %s\n' \
        "$(admin link person setup)"
}

# A picture of one pixel, different each time. The fields of the grant become options of curl, which posts them to the store.
print_upload_command() {
    cat <<END

Upload a picture; docs/files.md explains the steps:

  (cd "\$(mktemp -d)" && printf 'GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377!\376\010%08d\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;' \$RANDOM >pixel.gif && curl -s $1/files -H 'X-API-Key: $2' -H 'Content-Type: application/json' -o session -d '{"filename": "pixel.gif", "media_type": "image/gif", "size_bytes": 47, "sha256": "'"\$(sha256sum pixel.gif | cut -c 1-64)"'"}' && sed 's/.*"fields":{\([^}]*\)}.*/\1/; s/","/"\n"/g' session | sed 's/^"\([^"]*\)":"/form-string = "\1=/' >grant && curl -s -K grant -F file=@pixel.gif "\$(grep -o '"url":"[^"]*"' session | cut -d '"' -f 4)" && curl -s $1/files/"\$(grep -o 'file_[0-9a-f]*' session | head -n 1)"/complete -H 'X-API-Key: $2' -d '{}')
END
}

down() {
    [[ -d $UP ]] || { say "nothing is up"; return; }
    local name
    for name in longshored receiver servers; do
        if is_recorded "$UP/$name.pid"; then
            say "stopping $name"
            stop_process "$(cut -d' ' -f1 "$UP/$name.pid")"
        fi
    done
    [[ ! -s $UP/data ]] || rm -rf "$(<"$UP/data")"
    rm -rf "$UP"
    rmdir "$STATE" 2>/dev/null || true
    say "nothing is left"
}

callbacks() {
    [[ -f $UP/callbacks.log ]] || fail "nothing is up: ./dev up"
    exec tail -n +1 -f "$UP/callbacks.log"
}

open_psql() {
    use_up
    [[ -n ${SVC_CONTROL_DATABASE_URL:-} ]] || fail "nothing is up: ./dev up"
    exec psql "${SVC_CONTROL_DATABASE_URL%/*}/${1:-north}"
}

# Uses the settings of `up`, unless the environment has others.
use_up() {
    if [[ -z ${SVC_CONTROL_DATABASE_URL:-}${SVC_DATABASE_URL:-} && -f $UP/env ]]; then
        # shellcheck source=/dev/null
        source "$UP/env"
    fi
}

# Prints one field of the result of an admin command: admin FIELD ARGUMENTS…
admin() {
    local field=$1
    shift
    "$LONGSHORED" admin "$@" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$field"
}

# A process id can be reused, so the start time is stored with it.
record_process() { echo "$2 $(start_time_of "$2")" >"$1"; }

is_recorded() {
    local pid birth
    [[ -f $1 ]] && read -r pid birth <"$1" && running "$pid" && [[ $(start_time_of "$pid") == "$birth" ]]
}

start_time_of() { ps -o lstart= -p "$1" | tr -s ' ' '-'; }
