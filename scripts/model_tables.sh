# shellcheck shell=bash
# `./dev model-tables`: the table of models in docs/what-you-can-send.md, from models.current.toml.

write_model_tables() {
    need compiler
    build_longshored
    local page=docs/what-you-can-send.md
    SVC_DATABASE_URL=postgres://localhost/unused SVC_MODELS_FILE=models.current.toml \
        SVC_PROVIDERS_FILE=scripts/current-providers.toml "$LONGSHORED" models list |
        python3 -B scripts/model_tables.py "$page"
    say "$page has the models of models.current.toml"
}
