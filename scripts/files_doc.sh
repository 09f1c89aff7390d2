# shellcheck shell=bash
# `./dev docs-test`: what docs/files.md and docs/providers.md tell people to paste, pasted.

run_docs() {
    need compiler postgres redis objects scanner
    # Each page has servers of its own, which go with it.
    (files_doc)
    (providers_doc)
}

# Somebody who follows a page, with credit and a key.
docs_reader() {
    local organization project
    organization=$(admin organization_id organization create "Reader" --plan pro)
    admin organization_id credit add "$organization" 10 --note "to follow the page with" >/dev/null
    project=$(admin project_id project create --organization "$organization" --slug reader)
    KEY=$(admin key key create --project "$project" --name reader)
    export BASE_URL KEY
}

files_doc() {
    DOCS_PAGE=docs/files.md
    MODELS=scripts/up-models.toml scratch_fleet
    docs_reader
    mkdir "$SCRATCH/pasted"
    # Blocks without a language are not to be run.
    sed -n '/^```sh$/,/^```$/p' docs/files.md | grep -v '^```' >"$SCRATCH/pasted.sh"
    say "running $(wc -l <"$SCRATCH/pasted.sh") lines of docs/files.md"
    (cd "$SCRATCH/pasted" && attend bash -euo pipefail "$SCRATCH/pasted.sh") >"$SCRATCH/pasted.log" 2>&1 ||
        docs_failed "a command failed"
    docs_expect '"media_type":"image/png".*"scan_status":"clean"' 'the store answers 20[14]' '"cargo_id":"crg_' \
        '"kind":"video".*"scan_status":"clean"' '"error":"invalid_state"' 'the same bytes' '"files":\[{' \
        '"pinned":true' '"status":"expired"'
    say "every command of docs/files.md works as pasted"
}

# Each of these patterns must stand in what the commands said.
docs_expect() {
    local expected
    for expected in "$@"; do
        grep -qE -- "$expected" "$SCRATCH/pasted.log" || docs_failed "no answer has $expected"
    done
}

docs_failed() {
    cat "$SCRATCH/pasted.log" >&2
    keep_logs
    fail "$DOCS_PAGE: $1"
}
