# shellcheck shell=bash
# PostgreSQL, Redis, SeaweedFS and clamd for `up` and for tests: `trials servers` starts and stops them, with the code
# of the trials.

# The object store that deps.sh installs.
objects_program() { echo "$CACHE/objects/bin/weed"; }

# Starts PostgreSQL and what is named after it, and waits until all work: servers_start FOLDER durable|throwaway [redis]
# [files]. Sets POSTGRES_URL and settings of longshored, and with files OBJECTS_STORE.
servers_start() {
    local folder=$1 kind=$2 options=() end
    shift 2
    [[ $kind == durable ]] || options+=(--throwaway)
    options+=("${@/#/--}")
    say "building trials"
    build_programs --bin trials
    start "PostgreSQL ($kind)${*:+, $*}" "$folder/servers.log" "$CARGO_TARGET_DIR/debug/trials" \
        --weed "$(objects_program)" servers --folder "$folder/servers" --env "$folder/servers.env" "${options[@]}"
    end=$((SECONDS + 2 * START_SECONDS))
    while ((SECONDS < end)); do
        [[ ! -f $folder/servers.env ]] || break
        running "${STARTED[-1]}" || break
        sleep 0.1
    done
    [[ -f $folder/servers.env ]] || { tail -n 40 "$folder/servers.log" >&2; fail "the servers did not start"; }
    # shellcheck source=/dev/null
    source "$folder/servers.env"
}

# Exports the settings of the started servers to longshored.
servers_settings() { export "${!SVC_@}"; }
