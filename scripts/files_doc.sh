# shellcheck shell=bash
# `./dev docs-test`: runs the commands of docs/files.md and docs/providers.md.

run_docs() {
    need compiler postgres redis objects scanner
    # Each page has separate servers, which stop with it.
    (files_doc)
    (providers_doc)
}

# An organization with credit and a key, for following a page.
create_docs_caller() {
    local organization project
    organization=$(admin organization_id organization create "Reader" --plan pro)
    admin organization_id credit add "$organization" 10 --note "for docs-test" >/dev/null
    project=$(admin project_id project create --organization "$organization" --slug reader)
    KEY=$(admin key key create --project "$project" --name reader)
    export BASE_URL KEY
}

files_doc() {
    DOCS_PAGE=docs/files.md
    MODELS=scripts/up-models.toml scratch_fleet
    create_docs_caller
    mkdir "$SCRATCH/pasted"
    # Blocks without a language are not run.
    sed -n '/^```sh$/,/^```$/p' docs/files.md | grep -v '^```' >"$SCRATCH/pasted.sh"
    say "running $(wc -l <"$SCRATCH/pasted.sh") lines of docs/files.md"
    (cd "$SCRATCH/pasted" && run_interruptible bash -euo pipefail "$SCRATCH/pasted.sh") >"$SCRATCH/pasted.log" 2>&1 ||
        fail_docs "a command failed"
    expect_output '"media_type":"image/png".*"scan_status":"clean"' 'the store answers 20[14]' '"cargo_id":"crg_' \
        '"kind":"video".*"scan_status":"clean"' '"error":"invalid_state"' 'the same bytes' '"files":\[{' \
        '"pinned":true' '"status":"expired"'
    say "every command of docs/files.md works as pasted"
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
