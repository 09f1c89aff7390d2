# shellcheck shell=bash
# `./dev fuzz api`: Schemathesis over /openapi.json and the dashboard's forms, against real processes.

missing_fuzz_api() { missing_python; }

# A virtual environment, separate from the one of the conformance tests.
install_fuzz_api() { python_packages tools/fuzz-api/requirements.txt "$CACHE/fuzz-api"; }

# Ends with one line of JSON on standard output: run_fuzz_api [--cases N] [--seed S].
run_fuzz_api() {
    local cases=200000 seed=$RANDOM organization project
    while [[ $# -gt 0 ]]; do
        case $1 in
            --cases) cases=${2:?} ;;
            --seed) seed=${2:?} ;;
            *) fail "usage: ./dev fuzz api [--cases N] [--seed S]" ;;
        esac
        shift 2
    done
    need compiler postgres redis objects scanner fuzz_api
    fuzz_api_settings
    scratch_fleet
    say "creating an organization, a project, a key and an audit token"
    organization=$(admin organization_id organization create Fuzz --plan enterprise)
    admin organization_id credit add "$organization" 10000 --note "for cases that cost" >/dev/null
    project=$(admin project_id project create --organization "$organization" --slug fuzz)
    LONGSHORE_FUZZ_KEY=$(admin key key create --project "$project" --name fuzz)
    # GET /audit takes no API key.
    LONGSHORE_FUZZ_AUDIT_TOKEN=$(admin token audit create-token --name fuzz --organization "$organization")
    LONGSHORE_FUZZ_SETUP=$(admin link person setup)
    export LONGSHORE_FUZZ_KEY LONGSHORE_FUZZ_AUDIT_TOKEN LONGSHORE_FUZZ_SETUP
    say "fuzzing with seed $seed"
    PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/fuzz-api/bin/python" tools/fuzz-api/run.py "$BASE_URL" \
        --cases "$cases" --seed "$seed" --folder "$SCRATCH" || {
        local code=$?
        keep_logs
        return "$code"
    }
}

# Limits that would answer most cases, and no callback to another machine.
fuzz_api_settings() {
    export SVC_BACKSTOP_LIMIT_PER_MINUTE=10000000 SVC_BACKSTOP_LIMIT_PER_HOUR=100000000
    export SVC_READ_LIMIT_PER_MINUTE=10000000 SVC_FILE_WRITE_LIMIT_PER_MINUTE=10000000
    export SVC_DASHBOARD_LIMIT_PER_MINUTE=10000000
    # A complete request would wait for the workers, and most are for files without an upload.
    export SVC_COMPLETE_WAIT_SECONDS=0 SVC_WAIT_MAX_SECONDS=1
    # The stream of a listener would stay open for an hour.
    export SVC_LISTEN_TUNNEL=off
    # A line for each request would be most of the log.
    export SVC_LOG=warn
    # Everything but 127.0.0.0/8.
    local below=0.0.0.0/2,64.0.0.0/3,96.0.0.0/4,112.0.0.0/5,120.0.0.0/6,124.0.0.0/7,126.0.0.0/8
    export SVC_CALLBACK_DENY_CIDRS=$below,128.0.0.0/1,::/0
    # For the forms of signed callbacks: 32 bytes that are no secret.
    export SVC_SIGNING_ROOT=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
}
