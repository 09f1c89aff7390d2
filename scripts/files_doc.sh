# shellcheck shell=bash
# `./dev docs-test`: runs the commands of pages for callers, of docs/providers.md and of docs/runbooks.

run_docs() {
    need compiler postgres redis objects scanner openssl
    # Each page has separate servers, which stop with it.
    (files_doc)
    (reading_doc)
    (anthropic_doc)
    (openai_doc)
    (providers_doc)
    (runbooks_doc)
}

# An organization with credit and a key, for following a page.
create_docs_caller() {
    local organization
    organization=$(admin organization_id organization create "Reader" --plan pro)
    admin organization_id credit add "$organization" 10 --note "for docs-test" >/dev/null
    PROJECT=$(admin project_id project create --organization "$organization" --slug reader)
    KEY=$(admin key key create --project "$PROJECT" --name reader)
    export BASE_URL KEY PROJECT
}

files_doc() {
    DOCS_PAGE=docs/files.md
    MODELS=scripts/up-models.toml scratch_fleet
    create_docs_caller
    run_pasted
    expect_output '"media_type":"image/png".*"scan_status":"clean"' 'the store answers 20[14]' '"cargo_id":"crg_' \
        '"kind":"video".*"scan_status":"clean"' '"error":"invalid_state"' 'the same bytes' '"files":\[{' \
        '"pinned":true' '"status":"expired"'
    say "every command of docs/files.md works as pasted"
}

reading_doc() {
    DOCS_PAGE=docs/reading.md
    MODELS=scripts/up-models.toml scratch_fleet
    create_docs_caller
    run_pasted
    expect_output '"slug":"reader"' '"id":"svc-mock","kind":"chat"' '"status":"COMPLETED"' '"cargo":\[{' \
        '"next_cursor":null' '"cargo_id":"crg_[0-9a-f]*"$' '"attempts":\[\],"next_attempt_at":null' '"error":"nothing_to_send"'
    say "every command of docs/reading.md works as pasted"
}

# Runs the commands of DOCS_PAGE. Blocks without a language are not run.
run_pasted() {
    mkdir "$SCRATCH/pasted"
    sed -n '/^```sh$/,/^```$/p' "$DOCS_PAGE" | grep -v '^```' >"$SCRATCH/pasted.sh"
    say "running $(wc -l <"$SCRATCH/pasted.sh") lines of $DOCS_PAGE"
    (cd "$SCRATCH/pasted" && run_interruptible bash -euo pipefail "$SCRATCH/pasted.sh") >"$SCRATCH/pasted.log" 2>&1 ||
        fail_docs "a command failed"
}

# Each of these patterns must be in the output of the commands.
expect_output() {
    local expected
    for expected in "$@"; do
        grep -qE -- "$expected" "$SCRATCH/pasted.log" || fail_docs "the output does not contain $expected"
    done
}

fail_docs() {
    cat "$SCRATCH/pasted.log" >&2
    keep_logs
    fail "$DOCS_PAGE: $1"
}
