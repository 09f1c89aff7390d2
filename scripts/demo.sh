# shellcheck shell=bash
# `./dev demo`: thirty days of work for what `up` started, so that pages have something to show.

# demo [--cargo N] [--project SLUG]
demo() {
    local cargo=100000 project=
    while (($#)); do
        case $1 in
            --cargo) cargo=${2:?"how many?"} ;;
            --project) project=${2:?"which?"} ;;
            *) fail "usage: ./dev demo [--cargo N] [--project SLUG]" ;;
        esac
        shift 2
    done
    if ! up_runs; then up >/dev/null; fi
    use_up
    demo_is_new || fail "the demo is there already: ./dev down, and again"
    # Nobody shall work on half of it; and providers are read at a start alone.
    say "stopping longshored meanwhile"
    end "$(cut -d' ' -f1 "$UP/longshored.pid")"
    demo_rows "$cargo" "$project" >"$UP/demo.keys"
    demo_settings
    (umask 077 && export -p | sed -n 's|^declare -x SVC_|export SVC_|p' >"$UP/env")
    start "longshored all" "$UP/longshored.log" "$LONGSHORED" all
    note "$UP/longshored.pid" "${STARTED[-1]}"
    await "http://$SVC_LISTEN" "${STARTED[-1]}" "$UP/longshored.log"
    demo_files "http://$SVC_LISTEN" <"$UP/demo.keys"
    demo_check
    (umask 077 && demo_tell "http://$SVC_LISTEN" "$(admin link person link marta@operator.example)" | tee -a "$UP/said")
}

demo_is_new() {
    [[ -z $(psql --no-psqlrc --quiet --tuples-only --no-align --dbname="$SVC_CONTROL_DATABASE_URL" \
        --command="select 1 from control.project where slug = 'support-desk'") ]]
}

# Every row but those of files, on the databases that the settings name: demo_rows CARGO PROJECT. Says a key for each project.
demo_rows() {
    local cargo=$1 project=$2 began=$SECONDS shard pids=() pid
    local -A urls=()
    for shard in ${SVC_SHARD_DATABASE_URLS//,/ }; do urls[${shard%%=*}]=${shard#*=}; done
    [[ -n ${urls[north]:-} && -n ${urls[south]:-} ]] || fail "the demo wants the shards north and south"
    local berths=()
    read -r -a berths < <(psql --no-psqlrc --quiet --tuples-only --no-align --dbname="$SVC_CONTROL_DATABASE_URL" \
        --command="select string_agg(number::text, ' ' order by shard, number) from (
            select shard, number, row_number() over (partition by shard order by number) as place
            from control.berth where number not in (select berth from control.organization)) it where place <= 2")
    local settings=(--no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=now="$(date --utc +%FT%T.%6NZ)"
        --set=cargo="$cargo" --set=project="$project" --set=berth_1="${berths[0]}" --set=berth_2="${berths[1]}"
        --set=berth_3="${berths[2]}" --set=berth_4="${berths[3]}")
    say "writing $cargo cargo of thirty days"
    psql "${settings[@]}" --set=shard=north --dbname="$SVC_CONTROL_DATABASE_URL" --file=tools/demo/control.sql
    for shard in north south; do
        psql "${settings[@]}" --set=shard="$shard" --dbname="${urls[$shard]}" --file=tools/demo/shard.sql >&2 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "the demo's rows could not be written: see above"; done
    say "wrote them in $((SECONDS - began)) s"
}

# What the demo's rows speak of: its models, and accounts where nobody answers.
demo_settings() {
    export SVC_MODELS_FILE=$PWD/tools/demo/models.toml SVC_PROVIDERS_FILE=$PWD/tools/demo/providers.toml
    export LONGSHORE_DEMO_CREDENTIAL=none LONGSHORE_DEMO_NORTH=north LONGSHORE_DEMO_SOUTH=south
}

# Files are uploaded as callers do: demo_files BASE_URL, with lines of project and key on the standard input.
demo_files() {
    local uploaded
    say "uploading files"
    uploaded=$(python3 tools/demo/files.py "$1") || fail "the demo's files could not be uploaded: see above"
    say "uploaded $uploaded"
}

demo_check() {
    say "proving the ledger"
    "$LONGSHORED" admin ledger check >&2 || fail "the demo does not add up: see above"
}

# demo_tell BASE_URL LINK
demo_tell() {
    cat <<END

The demo is there: 4 organizations, 8 projects, thirty days. Its keys are in .dev/up/demo.keys.

  pages       $1/dashboard
  sign in     as marta@operator.example, who runs the service; once, to choose a password:
              $2
END
}
