# shellcheck shell=bash
# `./dev compose --trial`: compose/start and compose.yaml, started whole, with the image that `./dev image` builds.
# tools/packaging/compose_stand_in.py stands in for Docker, because nothing is pulled. Prints times as a line of JSON.

run_compose() {
    local binary=
    [[ ${1:-} == --trial ]] || fail "usage: ./dev compose --trial [--binary FILE]"
    [[ ${2:-} != --binary ]] || binary=${3:?the file}
    [[ $EUID == 0 ]] || fail "./dev compose --trial changes /etc/hosts for one of its servers: run it as root"
    need compiler postgres redis objects scanner packaging containers
    scratch
    build_image "$SCRATCH/image.tar" "$(workspace_version)" "$binary" >&2
    load_image "$SCRATCH/image.tar"
    compose_trial
}

compose_trial() {
    local installation=$SCRATCH/installation state=$SCRATCH/state address=127.77.0.7 key cargo file first second began
    prepare_stand_in "$installation" "$state"
    say "compose/start --demo"
    began=$SECONDS
    start_compose "$SCRATCH/start-1"
    first=$((SECONDS - began))
    key=$(<"$installation/compose/secrets/demo_key")
    docker compose healthy
    docker compose exec -T work /usr/bin/longshored doctor >"$SCRATCH/doctor" 2>&1 ||
        { cat "$SCRATCH/doctor" >&2; fail "doctor found faults in the container of work"; }
    check_guide "http://$address:8080" "$(workspace_version)"
    cargo=$(load_as_printed "$SCRATCH/start-1" "$address" "$state")
    say "its callback is there; uploading a file"
    print_upload_command "http://$address:8080" "$key" | grep '^  (cd ' >"$SCRATCH/upload"
    bash "$SCRATCH/upload" >"$SCRATCH/file"
    file=$(grep -o 'file_[0-9a-f]*' "$SCRATCH/file" | head -n 1)
    await_text "http://$address:8080/files/$file" "$key" '"ready"'

    say "stopping everything, and starting it again"
    docker compose down
    began=$SECONDS
    start_compose "$SCRATCH/start-2"
    second=$((SECONDS - began))
    [[ $key == "$(<"$installation/compose/secrets/demo_key")" ]] || fail "the second start made another key"
    docker compose healthy
    await_text "http://$address:8080/cargo/$cargo/tracking" "$key" '"callback_delivered"'
    await_text "http://$address:8080/files/$file" "$key" '"ready"'
    load_as_printed "$SCRATCH/start-2" "$address" "$state" >/dev/null
    printf '{"name": "compose", "ok": true, "first_start_seconds": %s, "second_start_seconds": %s}\n' "$first" "$second"
}

# A copy of compose/ and a program docker(1) that acts on it: prepare_stand_in INSTALLATION STATE.
prepare_stand_in() {
    local installation=$1 state=$2 path
    mkdir -p "$installation/scripts" "$state" "$SCRATCH/bin"
    git ls-files --cached --others --exclude-standard compose scripts/receiver.py |
        while read -r path; do install -D "$path" "$installation/$path"; done
    # The addresses of the receiver and of the object store: no port of the host is published.
    export CALLBACK_ALLOW_CIDRS=127.77.0.0/16 OBJECTS_PUBLIC_URL=http://127.77.0.3:8333 LONGSHORE_IMAGE=$IMAGE
    export COMPOSE_FOLDER=$installation/compose COMPOSE_STATE=$state COMPOSE_PODMAN="${PODMAN[*]}"
    export COMPOSE_WEED COMPOSE_POSTGRES
    COMPOSE_WEED=$(objects_program)
    COMPOSE_POSTGRES=$(postgres_programs)
    cat >"$SCRATCH/bin/docker" <<END
#!/bin/sh
exec "$CACHE/packaging/bin/python" -B "$PWD/tools/packaging/compose_stand_in.py" "\$@"
END
    chmod 755 "$SCRATCH/bin/docker"
    export PATH=$SCRATCH/bin:$PATH
    # It ends with the verb, and takes everything with it.
    start "a process that stops the services" "$SCRATCH/stop.log" bash -c \
        'trap "docker compose down; exit" TERM; while true; do sleep 1000 & wait $!; done'
}

# start_compose LOG
start_compose() {
    sh "$COMPOSE_FOLDER/start" --demo >"$1" || {
        tail -n 20 "$COMPOSE_STATE"/*.log >&2
        fail "compose/start failed; above are the ends of the logs"
    }
}

# Runs the command that compose/start printed, waits for the callback and prints the id of the cargo: load_as_printed
# LOG ADDRESS STATE. Only the address of the API differs.
load_as_printed() {
    local command cargo turn
    command=$(grep '^  curl ' "$1")
    cargo=$(bash -c "${command//localhost:8080/$2:8080}" | grep -o 'crg_[0-9a-f]*' | head -n 1)
    [[ -n $cargo ]] || fail "the printed command loaded no cargo: $command"
    for ((turn = 0; turn < 600; turn++)); do
        ! grep -q "$cargo" "$3/receiver.log" || { echo "$cargo"; return; }
        sleep 0.1
    done
    tail -n 20 "$3"/{serve,work}.log >&2
    fail "no callback of $cargo arrived"
}

# Waits until the answer has this text: await_text URL KEY TEXT.
await_text() {
    local answer turn
    for ((turn = 0; turn < 300; turn++)); do
        answer=$(curl --silent --max-time 5 --header "X-API-Key: $2" "$1") || answer=
        [[ $answer != *"$3"* ]] || return 0
        sleep 0.2
    done
    fail "$1 has no $3: $answer"
}
