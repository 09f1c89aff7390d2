# shellcheck shell=bash
# Two commits in turns, so that the noise of the machine affects both.

# compare COMMIT [--rounds N] [--only load|journey]: that commit against this checkout.
compare() {
    local commit=${1:?compare COMMIT: the commit to compare with} before
    shift
    commit=$(git rev-parse --short=12 --verify "$commit^{commit}")
    need compiler postgres redis objects scanner
    scratch
    # Built like this checkout: the whole workspace chooses the features of dependencies.
    before=$CACHE/before/$commit-workspace
    [[ -x $before/longshored ]] || build_commit "$commit" release "$before" --workspace --bins
    say "building longshored and trials (release)"
    cargo build --workspace --bins --release "${QUIET[@]}"
    local built=$CARGO_TARGET_DIR/release
    run_interruptible python3 scripts/compare.py --commit "$commit" --before "$before/longshored" \
        --after "$built/longshored" --trials "$built/trials" --simulator "$built/simulator" \
        --weed "$(objects_program)" "$@"
}
