# shellcheck shell=bash
# `./dev image --trial`: the conformance tests against containers of the image, confined as in production, beside
# PostgreSQL, Redis, SeaweedFS and clamd. Prints size, start time and memory as one line of JSON.

# Set by image_trial.
PODMAN=()
IMAGE=
CONFINED=()

# image_trial VERSION [BINARY]
image_trial() {
    local sizes web metrics work_metrics unused started memory=()
    need compiler postgres redis objects scanner python containers
    scratch_servers
    sizes=$(build_image "$SCRATCH/image.tar" "$1" "${2:-}")
    load_image "$SCRATCH/image.tar"
    confine_containers
    run_container migrate >"$SCRATCH/image-migrate.log" 2>&1 || { cat "$SCRATCH/image-migrate.log" >&2; fail "migrate failed"; }

    read -r web metrics work_metrics unused < <(free_ports 4)
    BASE_URL=http://127.0.0.1:$web
    create_container serve --env "SVC_LISTEN=127.0.0.1:$web" --env "SVC_METRICS_LISTEN=127.0.0.1:$metrics"
    # Containers share the ports of the host, and the health check of work asks SVC_LISTEN first.
    create_container work --env "SVC_LISTEN=127.0.0.1:$unused" --env "SVC_METRICS_LISTEN=127.0.0.1:$work_metrics"
    started=$(date +%s%N)
    start "serve in a container at $BASE_URL" "$SCRATCH/serve.log" "${PODMAN[@]}" start --attach serve
    await_health "$BASE_URL"
    started=$((($(date +%s%N) - started) / 1000000))
    await "$BASE_URL" "${STARTED[-1]}" "$SCRATCH/serve.log"
    start "work in a container" "$SCRATCH/work.log" "${PODMAN[@]}" start --attach work
    await_health "http://127.0.0.1:$work_metrics"

    check_confinement serve
    check_confinement work
    say "health checks and doctor in the containers"
    check_guide "$BASE_URL" "$1"
    "${PODMAN[@]}" exec serve /usr/bin/longshored health --ready || fail "longshored health --ready failed in the container"
    "${PODMAN[@]}" exec work /usr/bin/longshored health || fail "longshored health failed in the container of work"
    "${PODMAN[@]}" exec work /usr/bin/longshored doctor >"$SCRATCH/doctor.log" 2>&1 ||
        { cat "$SCRATCH/doctor.log" >&2; fail "doctor found faults in the container"; }
    memory=("$(resident_kilobytes serve)" "$(resident_kilobytes work)")

    fixtures "$SCRATCH/fixtures.json" "$BASE_URL"
    conformance_tests "$SCRATCH/fixtures.json" >&2
    python3 - "$sizes" "$started" "${memory[@]}" "$(resident_kilobytes serve)" "$(resident_kilobytes work)" <<'END'
import json, sys
sizes, started, *memory = sys.argv[1:]
names = ["serve_idle_kilobytes", "work_idle_kilobytes", "serve_kilobytes", "work_kilobytes"]
verdict = {"name": "image", "ok": True, **json.loads(sizes), "start_milliseconds": int(started)}
print(json.dumps({**verdict, **dict(zip(names, map(int, memory)))}))
END
}

# Loads the archive into a store inside the scratch folder, so that nothing is left.
load_image() {
    local loaded
    PODMAN=(podman --root "$SCRATCH/containers" --runroot "$SCRATCH/containers/run" --tmpdir "$SCRATCH/containers/tmp"
        --storage-driver vfs --runtime runc --cgroup-manager cgroupfs)
    say "loading the image"
    loaded=$("${PODMAN[@]}" load --quiet --input "$1")
    IMAGE=${loaded##*: }
}

# Sets how containers run.
confine_containers() {
    # The servers of the trial listen on the loopback address of the host.
    CONFINED=(--network host --read-only --read-only-tmpfs=false --tmpfs /tmp:rw,noexec,nosuid,nodev,size=512m
        --cap-drop all --security-opt no-new-privileges
        --ulimit "nofile=$(lower_limit "$(ulimit -Hn)" 20000)" --ulimit "nproc=$(lower_limit "$(ulimit -Hu)" 2000)"
        --volume "$PWD/scripts/conformance-models.toml:/etc/longshore/models.toml:ro"
        --env-file "$SCRATCH/image.env" --env SVC_MODELS_FILE=/etc/longshore/models.toml)
    (umask 077 && env | grep '^SVC_' >"$SCRATCH/image.env")
}

# A limit for --ulimit that is not above the host's: lower_limit HARD MOST.
lower_limit() {
    local limit=$2
    [[ $1 == unlimited || $1 -gt $2 ]] || limit=$1
    echo "$limit:$limit"
}

run_container() { "${PODMAN[@]}" run --rm "${CONFINED[@]}" "$IMAGE" "$@"; }

# create_container ROLE OPTIONS…
create_container() {
    local role=$1
    shift
    "${PODMAN[@]}" create --name "$role" "${CONFINED[@]}" "$@" "$IMAGE" "$role" >/dev/null
}

# Waits until a process answers /health: await_health URL.
await_health() {
    local turn
    for ((turn = 0; turn < 1000; turn++)); do
        ! curl --silent --fail --max-time 1 --output /dev/null "$1/health" || return 0
        sleep 0.02
    done
    keep_logs
    fail "$1/health does not answer"
}

# The guide of this version is served, with its pages: check_guide URL VERSION.
check_guide() {
    local page
    for page in guide guide/settings.html; do
        curl --silent --fail --location --max-time 10 --output "$SCRATCH/guide-page" "$1/$page" ||
            fail "$1/$page is not served"
        grep -qF "<small>$2</small>" "$SCRATCH/guide-page" || fail "$1/$page is not a page of the guide of $2"
    done
}

container_process() { "${PODMAN[@]}" inspect --format '{{.State.Pid}}' "$1"; }

resident_kilobytes() { awk '/^VmRSS:/ { print $2 }' "/proc/$(container_process "$1")/status"; }

# The kernel's own words on a process: not root, no capabilities, no new privileges, system calls filtered.
check_confinement() {
    local status line
    status=$(tr '\t' ' ' <"/proc/$(container_process "$1")/status")
    for line in 'Uid: 65532' 'Gid: 65532' 'CapEff: 0000000000000000' 'NoNewPrivs: 1' 'Seccomp: 2'; do
        [[ $status == *"$line"* ]] || fail "$1 is not confined: /proc says no '$line'"
    done
    ! touch "/proc/$(container_process "$1")/root/etc/written" 2>/dev/null || fail "the root of $1 is writable"
}
