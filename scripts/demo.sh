# shellcheck shell=bash
# `./dev demo`: adds thirty days of work to the installation of `up`, so that pages show something.

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
    demo_is_new || fail "the demo exists already; run ./dev down first"
    # No worker may process a part of the rows, and providers are only read at start.
    say "stopping longshored while the rows are written"
    stop_process "$(cut -d' ' -f1 "$UP/longshored.pid")"
    demo_rows "$cargo" "$project" >"$UP/demo.keys"
    demo_settings
    (umask 077 && export -p | sed -n 's|^declare -x SVC_|export SVC_|p' >"$UP/env")
    start "longshored all" "$UP/longshored.log" "$LONGSHORED" all
    record_process "$UP/longshored.pid" "${STARTED[-1]}"
    await "http://$SVC_LISTEN" "${STARTED[-1]}" "$UP/longshored.log"
    demo_files "http://$SVC_LISTEN" <"$UP/demo.keys"
    demo_check
    (umask 077 && print_demo_instructions "http://$SVC_LISTEN" "$(admin link person link marta@operator.example)" | tee -a "$UP/instructions")
}

demo_is_new() {
    [[ -z $(psql --no-psqlrc --quiet --tuples-only --no-align --dbname="$SVC_CONTROL_DATABASE_URL" \
        --command="select 1 from control.project where slug = 'customer-support'") ]]
}

# Writes all rows except those of files to the databases of the settings: demo_rows CARGO PROJECT. Prints a key for each project.
demo_rows() {
    local cargo=$1 project=$2 began=$SECONDS shard pids=() pid
    local -A urls=()
    for shard in ${SVC_SHARD_DATABASE_URLS//,/ }; do urls[${shard%%=*}]=${shard#*=}; done
    [[ -n ${urls[north]:-} && -n ${urls[south]:-} ]] || fail "the demo needs the shards north and south"
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

# The models and accounts of the demo's rows. No server answers for these accounts.
demo_settings() {
    export SVC_MODELS_FILE=$PWD/tools/demo/models.toml SVC_PROVIDERS_FILE=$PWD/tools/demo/providers.toml
    export LONGSHORE_DEMO_CREDENTIAL=none LONGSHORE_DEMO_NORTH=north LONGSHORE_DEMO_SOUTH=south
}

# Uploads files through the API: demo_files BASE_URL, with lines of project and key on the standard input.
demo_files() {
    local uploaded
    say "uploading files"
    uploaded=$(python3 tools/demo/files.py "$1") || fail "the demo's files could not be uploaded: see above"
    say "uploaded $uploaded"
}

demo_check() {
    say "checking the ledger"
    "$LONGSHORED" admin ledger check >&2 || fail "the ledger of the demo is inconsistent: see above"
}

# print_demo_instructions BASE_URL LINK
print_demo_instructions() {
    cat <<END

The demo is ready: 4 organizations, 8 projects, thirty days. Its keys are in .dev/up/demo.keys.

  pages       $1/dashboard
  sign in     as marta@operator.example, the operator; choose a password with this link, valid once:
              $2
END
}
