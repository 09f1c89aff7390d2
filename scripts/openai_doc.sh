# shellcheck shell=bash
# For `./dev docs-test`: runs the commands of docs/from-openai-batch.md.

openai_doc() {
    DOCS_PAGE=docs/from-openai-batch.md
    MODELS=scripts/up-models.toml scratch_fleet
    create_docs_caller
    run_pasted
    expect_output '"purpose":"batch"' '"object":"batch"' '"status":"completed"' '"object":"chat.completion"' \
        'No such model' '"group_id":"grp_' '"status":"failed"' 'invalid_url' '"deleted":true' '"object":"model"'
    say "every command of $DOCS_PAGE works as pasted"
}
