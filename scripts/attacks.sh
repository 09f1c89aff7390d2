# shellcheck shell=bash
# Takes the fix of each finding of a security review back, one at a time, and expects that its attack tests fail.

# The patch in scripts/bugs, and a test that must fail with it: its crate and name. docs/security-tests.md has the
# findings. The rows of one patch follow each other.
known_attacks() {
    cat <<'END'
h1-invitation-asks-password server h1_an_invitation_never_asks_an_existing_person_for_a_password
h1-invitation-asks-password server h1_an_invitation_does_not_reveal_who_has_an_account
h2-free-role api h2_a_role_is_one_that_providers_know
h2-message-judged outbound h2_a_message_that_may_repeat_caller_input_says_nothing_about_the_account
h2-message-judged outbound h2_a_message_pauses_no_account_where_it_may_repeat_caller_input
h2-one-organization-pauses server h2_the_items_of_one_organization_pause_no_account
h2-status-judged server h2_the_items_of_two_organizations_pause_an_account_by_error_code
h3-quadratic-directives outbound h3_nine_megabytes_of_openings_are_read_in_linear_time
h4-unpacked-requests workers h4_a_group_is_bounded_by_bytes_as_they_are_unpacked
h4-unpacked-requests workers h4_who_finds_no_memory_waits_for_it
h4-queued-loads api h4_bytes_are_bounded_and_free_once_answered
h4-payload-memory workers h4_payloads_take_only_the_memory_of_their_class
h4-large-payload server h4_callbacks_larger_than_their_memory_are_delivered_one_by_one
h5-require-is-prefer store h5_an_address_says_how_it_is_protected
h5-require-is-prefer store h5_a_certificate_is_verified
h5-require-is-prefer store h5_a_server_cannot_turn_tls_off
h5-no-client-certificate store h5_a_client_certificate_is_sent
h5-plaintext-accepted server h5_production_refuses_plaintext_to_other_machines
h5-plaintext-accepted server h5_connections_that_may_be_unencrypted_are_reported
h5-tls-refused server h5_this_machine_and_tls_are_accepted
h5-redis-certificates outbound h5_redis_is_reached_with_tls_and_a_client_certificate
h5-redis-certificates outbound h5_certificates_are_not_used_without_tls
h6-uncounted-forwarded-client server h6_one_client_behind_a_proxy_has_its_share_of_requests
h6-deadline-per-frame server h6_a_form_that_comes_byte_by_byte_has_one_deadline
h6-unlimited-long-polls server h6_one_project_has_its_share_of_long_polls
h6-unlimited-result-streams api h6_a_project_has_its_share_of_streams_and_all_have_the_total
h6-unlimited-result-streams server h6_one_project_has_its_share_of_result_streams
m1-check-then-count server m1_parallel_guesses_do_not_pass_the_limit
m1-account-locked-out server m1_a_stranger_does_not_lock_an_owner_out
m2-planted-password server m2_the_first_single_sign_on_removes_a_password_that_an_inviter_set
m3-endless-session server m3_a_session_in_use_ends_at_its_lifetime
m3-passwords-despite-sso server m3_with_single_sign_on_only_no_password_opens_a_session
m3-passwords-despite-sso server m3_while_single_sign_on_is_down_a_console_link_lets_an_operator_in
m4-unlimited-live-streams dashboard m4_streams_of_one_page_share_its_renderings
m4-unlimited-live-streams dashboard m4_a_person_and_all_together_have_a_limit
m4-unlimited-live-streams dashboard m4_few_pages_are_rendered_at_the_same_time
m4-unlimited-live-streams server m4_a_person_has_a_limited_number_of_live_streams
m5-leftmost-hop domain m5_the_client_is_the_first_untrusted_hop_from_the_right
m5-leftmost-hop domain m5_without_a_readable_client_the_nearest_hop_counts
m5-any-peer domain m5_an_untrusted_peer_cannot_name_another_client
m5-mapped-peer domain m5_a_mapped_peer_counts_as_ipv4
m5-listener-trusts-any-peer server m5_a_client_cannot_choose_its_address
m5-listener-trusts-any-peer server h6_an_untrusted_peer_cannot_use_up_the_share_of_another_client
m6-erasure-leaves-names server m6_an_erased_project_leaves_no_text_in_any_table
m6-erasure-leaves-names server m6_the_objects_of_an_erased_project_are_removed_by_sweep
m6-erasure-leaves-names server m6_an_erased_organization_has_no_name_no_members_and_no_audit_tokens
m6-erasure-leaves-names server m6_the_audit_log_keeps_what_an_erased_person_did_and_forgets_who
m6-jobs-stay-at-provider server m6_a_job_is_deleted_after_its_results_were_stored
m7-rotation-drops-expiry server m7_a_rotated_key_expires_when_the_old_one_would_have
m8-unlimited-routes api m8_each_project_has_its_own_buckets_for_reads_and_writes
m8-unlimited-routes server m8_a_loop_of_reads_is_refused_and_other_projects_continue
m8-unlimited-routes server m8_a_loop_of_file_writes_is_refused_on_every_route
m8-unlimited-routes server m8_every_route_with_a_key_has_a_limit
m8-unlisted-route server m8_every_path_of_the_api_is_in_these_lists
m8-unlisted-route server m8_a_path_has_no_other_methods
m8-counted-before-key server m8_a_refused_key_is_not_counted
m8-unlimited-pages server m8_a_loop_of_pages_is_refused_and_other_people_continue
low-any-destination domain low_cloud_services_count_as_internal
low-any-destination domain low_a_denied_range_is_never_called
low-any-destination domain low_hosts_and_ports_can_be_denied
low-any-destination outbound low_the_operator_denies_addresses_hosts_and_ports
low-discovery-uncached server low_anonymous_visits_do_not_call_the_identity_provider
low-docs-store-key api low_the_page_does_not_store_the_key
low-insecure-cookies server low_cookies_do_not_lose_secure_silently_in_production
low-no-hsts server low_hsts_is_sent_with_every_response
low-planted-oidc-cookie server low_another_host_of_the_domain_cannot_plant_a_login_attempt
low-setup-link-in-log server low_a_start_without_a_terminal_logs_no_setup_link
low-unaudited server low_failed_sign_ins_are_in_the_audit_log
low-unaudited server low_reads_of_operators_and_exports_are_in_the_audit_log
low-values-in-log store low_a_database_error_is_described_without_values_of_rows
low-week-long-link outbound low_a_provider_link_lives_as_long_as_its_cargo_can
END
}

# bugs attacks [WORD]: all of them, or those with the word in the name of the patch or of a test.
attacks() {
    local only=${1:-} name crate test row rows=() patches=0 missed=() control=true applied='' ok=false
    while read -r name crate test; do
        [[ "$name $test" == *"$only"* ]] || continue
        rows+=("$name $crate $test")
    done < <(known_attacks | sort_by_patched_crate)
    [[ ${#rows[@]} != 0 ]] || fail "there is no attack $only"
    start_bug_servers
    rm -f "$STATE/bugs/attacks-control.log"
    for row in "${rows[@]}"; do
        read -r name crate test <<<"$row"
        if [[ $name != "$applied" ]]; then
            [[ ! $applied ]] || git -C "$BUG_CHECKOUT" apply --reverse "$PWD/scripts/bugs/$applied.patch"
            git -C "$BUG_CHECKOUT" apply "$PWD/scripts/bugs/$name.patch"
            applied=$name
            patches=$((patches + 1))
            rm -f "$STATE/bugs/$name.log"
            say "$name (output: $STATE/bugs/$name.log)"
        fi
        if run_attack_tests "$name" "$crate" "$(attack_target "$crate" "$test")" "$test"; then
            say "$name was not found by $test"
            missed+=("$name/$test")
        fi
    done
    git -C "$BUG_CHECKOUT" apply --reverse "$PWD/scripts/bugs/$applied.patch"
    say "without a patch, ${#rows[@]} tests pass"
    pass_attack_tests "${rows[@]}" || control=false
    [[ ${#missed[@]} != 0 || $control == false ]] || ok=true
    printf '{"name": "attacks", "ok": %s, "patches": %s, "tests": %s, "found": %s, ' \
        "$ok" "$patches" "${#rows[@]}" "$((${#rows[@]} - ${#missed[@]}))"
    printf '"missed": "%s", "passes_without": %s}\n' "${missed[*]:-}" "$control"
    [[ $ok == true ]]
}

# Patches of one crate follow each other, so that less is built again. The rows of a patch stay together.
sort_by_patched_crate() {
    local name rest
    while read -r name rest; do
        echo "$(grep -m 1 '^+++ ' "scripts/bugs/$name.patch" | cut -d / -f 3) $name $rest"
    done | sort --stable --key 1,1 | cut -d ' ' -f 2-
}

# Runs the tests of rows without a patch, those of one target together. Returns 1 if one fails.
pass_attack_tests() {
    local name crate test target passed=0
    local -A tests=()
    while read -r name crate test; do
        target="$crate $(attack_target "$crate" "$test")"
        tests[$target]+="${tests[$target]:+|}$test"
    done < <(printf '%s\n' "$@")
    for target in "${!tests[@]}"; do
        read -r crate name <<<"$target"
        run_attack_tests attacks-control "$crate" "$name" "${tests[$target]}" || passed=1
    done
    return "$passed"
}

# Where a test is: `it`, or the crate's own tests. attack_target CRATE TEST
attack_target() {
    if grep -rqsE "fn $2\(" "crates/$1/tests/it"; then
        echo it
    elif [[ -f crates/$1/src/lib.rs ]]; then
        echo lib
    else
        echo bins
    fi
}

# Builds only the crate and the target of the tests, so that a patch is built in a minute or two. Each crate has its
# features of dependencies, which are built once: run_attack_tests LOG CRATE it|lib|bins TEST[|TEST…]
run_attack_tests() {
    local target=("--$3")
    [[ $3 != it ]] || target=(--test it)
    run_bug_tests "$1" -p "$2" "${target[@]}" -E "test(/(^|::)($4)\$/)"
}

# Whether each attack test has a patch: a new one that nothing breaks could be one that cannot fail.
check_attacks() {
    local test
    while read -r test; do
        grep -qE " $test\$" < <(known_attacks) || fail "scripts/attacks.sh names no patch for the test $test"
    done < <(grep -rhoE 'fn (h[1-6]|m[1-8]|low)_[a-z0-9_]+\(' crates | sed 's/^fn //; s/($//')
}
