# shellcheck shell=bash disable=SC2034
# Runs docs/providers.md as pasted: its accounts, its models and its commands, with the simulator as the providers.
#
# The page has the providers' own addresses. These scripts change what a test needs: a base_url for each account,
# a text for each credential, scratch folders, and a linger of one second instead of one minute.

providers_doc() {
    DOCS_PAGE=docs/providers.md
    scratch_servers
    start_simulator
    mkdir -p "$SCRATCH/pasted" "$SCRATCH/longshore" "$SCRATCH/secrets"
    echo key-of-the-file >"$SCRATCH/secrets/gemini"
    export PATH=$CARGO_TARGET_DIR/debug:$PATH
    providers_commands "$SIMULATOR_URL" >"$SCRATCH/pasted.sh"
    say "running $(wc -l <"$SCRATCH/pasted.sh") lines of docs/providers.md"
    # Up to the restart in the page. longshored gets the variables that it exported.
    { sed '/^## A cargo for each$/,$d' "$SCRATCH/pasted.sh"; echo "export -p >$SCRATCH/exports"; } | providers_paste
    # shellcheck source=/dev/null
    source "$SCRATCH/exports"
    scratch_processes
    create_docs_caller
    sed -n '/^## A cargo for each$/,/^## When something is wrong$/p' "$SCRATCH/pasted.sh" | providers_paste
    providers_refuse "$SIMULATOR_URL/admin/openai/$OPENAI_API_KEY/faults"
    expect_output 'ok +credential +read from the variable OPENAI_API_KEY' \
        'ok +credential +read from the file ' 'openai-main.*open' 'claude-north.*open' 'claude-south.*open' \
        'gemini-main.*open' 'our-vllm.*open' '^gpt-5-mini: "success":true' '^claude: "success":true' \
        '^gemini-flash: "success":true' '^qwen: "success":true'
    [[ $(grep -cE 'ok +reachable .*answers and accepts the credential' "$SCRATCH/pasted.log") == 7 ]] ||
        fail_docs "not every account accepts its credential"
    say "every account of docs/providers.md works as pasted"
}

providers_paste() {
    cat >"$SCRATCH/part.sh"
    (cd "$SCRATCH/pasted" && run_interruptible bash -euo pipefail "$SCRATCH/part.sh") >>"$SCRATCH/pasted.log" 2>&1 ||
        fail_docs "a command failed"
}

# Lets the simulator refuse the credential until the account is paused, then resumes it as the page says: providers_refuse FAULTS.
providers_refuse() {
    curl --silent --fail --output /dev/null --request PUT "$1" --data '[{"name": "unauthorized"}]'
    local waiting cargo
    waiting=$(providers_load)
    providers_await 'openai-main.*paused since.*the provider rejected the credential' longshored admin provider list
    curl --silent --fail --output /dev/null --request DELETE "$1"
    sed -n '/^## When something is wrong$/,$p' "$SCRATCH/pasted.sh" | providers_paste
    for cargo in "$waiting" "$(providers_load)"; do
        providers_await '"success":true' curl --silent "$BASE_URL/cargo/$cargo/tracking" -H "X-API-Key: $KEY"
    done
}

providers_load() {
    curl --silent "$BASE_URL/cargo/load" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' --data '{
        "params": {"model": "gpt-5-mini", "max_tokens": 8, "messages": [{"role": "user", "content": "Still there?"}]}}' |
        grep -o 'crg_[0-9a-f]*'
}

# Repeats a command until its output has a pattern: providers_await PATTERN COMMAND…
providers_await() {
    local pattern=$1 end=$((SECONDS + START_SECONDS))
    shift
    while ((SECONDS < end)); do
        "$@" >"$SCRATCH/answer" 2>&1 || true
        ! grep -qE "$pattern" "$SCRATCH/answer" || return 0
        sleep 0.2
    done
    cat "$SCRATCH/answer" >>"$SCRATCH/pasted.log"
    fail_docs "the output of $1 never contained $pattern"
}

# Prints headings (comments for the shell), commands, and commands that append each TOML block to its file: providers_commands SIMULATOR.
providers_commands() {
    local simulator=$1
    awk '
        /^```/ && inside { if (file) print "END"; inside = file = ""; next }
        /^```(sh|toml)$/ { inside = $0; next }
        /^```/ { inside = "other"; next }
        inside == "```toml" && /^# (providers|models)\.toml$/ {
            file = toupper(substr($2, 1, length($2) - 5))
            print "cat >>\"$SVC_" file "_FILE\" <<\"END\""
            next
        }
        inside == "```sh" || file || (!inside && /^## /)
    ' docs/providers.md | awk '/^export [A-Z_]+=…$/ { sub("…", "key-" NR) } { print }' | sed \
        -e "s|/etc/longshore|$SCRATCH/longshore|g; s|/run/secrets|$SCRATCH/secrets|" \
        -e "s|enqueued_tokens = 2_000_000|&, linger_seconds = 1|" \
        -e "s|http://gpu.internal:8000|$simulator/server|" \
        -e "/^kind = \"openai\"/a base_url = \"$simulator/openai/v1\"" \
        -e "/^kind = \"anthropic\"/a base_url = \"$simulator/anthropic\"" \
        -e "s|https://RESOURCE.openai.azure.com|$simulator/azure|" \
        -e "/^kind = \"groq\"/a base_url = \"$simulator/groq/openai/v1\"" \
        -e "/^kind = \"gemini\"/a base_url = \"$simulator/gemini\""
}
