# shellcheck shell=bash
# `./dev dropins`: the clients of other providers, unchanged, against real processes of Longshore with another base URL.
# Each folder clients/dropins/FORMAT has python/ (pytest) and typescript/ (node --test).

missing_dropins() {
    missing_python
    missing_node
}

install_dropins() {
    local folder
    for folder in clients/dropins/*/; do
        folder=${folder%/}
        [[ ! -e $folder/python ]] ||
            python_packages "$folder/python/requirements.txt" "$CACHE/dropins-${folder##*/}"
        [[ ! -e $folder/typescript ]] || node_packages "$folder/typescript"
    done
}

# run_dropins [FORMAT…]: all formats without arguments.
run_dropins() {
    local formats=("$@") format folder fixtures
    need compiler postgres redis objects scanner python dropins
    [[ $# != 0 ]] || { formats=(clients/dropins/*/); formats=("${formats[@]%/}"); formats=("${formats[@]##*/}"); }
    scratch_servers
    superset_providers
    scratch_processes
    fixtures=$SCRATCH/fixtures.json
    fixtures "$fixtures" "$BASE_URL"
    export LONGSHORE_URL=$BASE_URL
    LONGSHORE_API_KEY=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["keys"]["pro"])' "$fixtures")
    export LONGSHORE_API_KEY
    # LiteLLM would fetch its prices from the network.
    export LITELLM_LOCAL_MODEL_COST_MAP=True
    for format in "${formats[@]}"; do
        folder=clients/dropins/$format
        dropins_format "$format" "$folder" || {
            local code=$?
            keep_logs
            return "$code"
        }
    done
}

dropins_format() {
    local format=$1 folder=$2
    if [[ -e $folder/python ]]; then
        say "pytest $folder/python"
        PYTHONDONTWRITEBYTECODE=1 run_interruptible "$CACHE/dropins-$format/bin/pytest" -p no:cacheprovider \
            --rootdir "$folder/python" "$folder/python" || return
    fi
    if [[ -e $folder/typescript ]]; then
        say "node --test $folder/typescript"
        run_interruptible node --test --test-reporter=spec "$folder"/typescript/*.test.mjs || return
    fi
}

# For `./dev docs-test`.
anthropic_doc() {
    DOCS_PAGE=docs/from-anthropic-batches.md
    MODELS=scripts/up-models.toml scratch_fleet
    create_docs_caller
    run_pasted
    expect_output '"type":"message_batch"' '"processing_status":"ended"' '"type":"succeeded"' '"type":"errored"' \
        '"group_id":"grp_' '"type":"message_batch_deleted"'
    say "every command of $DOCS_PAGE works as pasted"
}
