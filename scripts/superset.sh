# shellcheck shell=bash
# `./dev superset`: what goes beyond the contract, over HTTP, against real processes with the simulator as all providers.

run_superset() {
    need compiler postgres redis objects scanner python
    scratch_servers
    superset_providers
    scratch_processes
    local fixtures=$SCRATCH/fixtures.json
    fixtures "$fixtures" "$BASE_URL"
    local arguments=("$@")
    # Tests mostly wait for a batch to end.
    has_option -n "$@" || arguments+=(-n 8)
    say "pytest ${arguments[*]}"
    cd superset
    SVC_FIXTURES=$fixtures PYTHONDONTWRITEBYTECODE=1 \
        run_interruptible "$CACHE/python/bin/pytest" -p no:cacheprovider "${arguments[@]}" || {
        local code=$?
        keep_logs
        return "$code"
    }
}

# Starts the simulator, and exports the settings for its accounts and models.
superset_providers() {
    start_simulator
    sed "s|http://SIMULATOR|$SIMULATOR_URL|" superset/providers.toml >"$SCRATCH/providers.toml"
    export SVC_PROVIDERS_FILE=$SCRATCH/providers.toml SVC_MODELS_FILE=$PWD/superset/models.toml
    export OPENAI_API_KEY=key-openai OPENAI_FLEX_API_KEY=key-flex GEMINI_API_KEY=key-gemini
    export AZURE_OPENAI_API_KEY=key-azure GROQ_API_KEY=key-groq
    export ANTHROPIC_NORTH_API_KEY=key-north ANTHROPIC_SOUTH_API_KEY=key-south
}
