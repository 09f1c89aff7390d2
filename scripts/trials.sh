# shellcheck shell=bash
# Benchmarks, chaos trials and soaks: builds what they need, and runs the program `trials`.

# Builds, then runs the trials, which start and stop their own servers.
trials() {
    local verb=$1 profile=dev folder=debug argument arguments=()
    shift
    # A small run measures nothing.
    [[ $verb == chaos ]] || has_option --small "$@" || profile=release
    for argument in "$@"; do
        if [[ $argument == --release ]]; then profile=release; else arguments+=("$argument"); fi
    done
    set -- "${arguments[@]}"
    [[ $profile == dev ]] || folder=release
    need compiler postgres redis objects scanner
    say "building longshored and trials ($profile)"
    build_programs --bins --profile "$profile"
    local built=$CARGO_TARGET_DIR/$folder longshored=$CARGO_TARGET_DIR/$folder/longshored
    case "$verb ${1:-}" in
        soak\ *)
            need faketime prometheus patroni tmux
            build_chaos "$built" "$profile"
            set -- --chaos-build "$built/chaos/longshored" --keep "$STATE/soak" "$@"
            ulimit -Sn "$(ulimit -Hn)"
            ;;
        "chaos submit")
            build_chaos "$built" "$profile"
            longshored=$built/chaos/longshored
            ;;
        "chaos overload")
            need faketime
            # Each waiting caller keeps a connection.
            ulimit -Sn "$(ulimit -Hn)"
            ;;
        "chaos upgrade")
            find_version_before "$profile" "${@:2}"
            set -- upgrade "${UPGRADE_OPTIONS[@]}"
            ;;
        "chaos alerts") need faketime prometheus ;;
        "chaos failover") need patroni ;;
        "chaos listen") need tmux ;;
        "chaos run")
            need clients
            set -- "$@" --python "$CACHE/clients/bin/python"
            ;;
        "chaos server")
            need llama
            set -- "$@" --python "$(llama_python)"
            ;;
    esac
    local verdict status=0 logs=$STATE/trials/$verb-${1:-}-$$
    mkdir -p "$logs"
    verdict=$("$built/trials" --longshored "$longshored" --longshore "$built/longshore" --simulator "$built/simulator" \
        --weed "$(objects_program)" --logs "$logs" "$verb" "$@") || status=$?
    if [[ $status == 0 ]]; then
        rm -rf "$logs"
    else
        say "warnings and errors of the processes, from $logs"
        grep -hE '"level":"(WARN|ERROR)"' "$logs"/longshored-*.log | sort | tail -n 60 | cut -c 1-400 >&2 || true
    fi
    printf '%s\n' "$verdict"
    return "$status"
}

# The programs of all trials and tests in the debug build, so that several verbs can run at the same time.
build_all() {
    need compiler
    say "building all programs and examples (dev)"
    build_programs --bins --examples
    build_chaos "$CARGO_TARGET_DIR/debug" dev
}

# The chaos build: longshored with failpoints at which it kills itself. It never replaces the usual build.
build_chaos() {
    local built=$1 profile=$2
    [[ -z ${LONGSHORE_BUILT:-} ]] || return 0
    say "building longshored with the feature chaos"
    mv "$built/longshored" "$built/longshored.usual"
    cargo build --workspace --bins --profile "$profile" --features server/chaos "${QUIET[@]}" || {
        mv "$built/longshored.usual" "$built/longshored"
        return 1
    }
    mkdir -p "$built/chaos"
    # If nothing was compiled, both are names of one file, which mv refuses.
    rm -f "$built/chaos/longshored"
    mv "$built/longshored" "$built/chaos/longshored"
    mv "$built/longshored.usual" "$built/longshored"
}
