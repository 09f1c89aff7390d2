# shellcheck shell=bash
# Two commits in turns, so that the noise of the machine affects both.

# compare COMMIT [--rounds N] [--only load|journey]: that commit against this checkout.
compare() {
    local commit=${1:?compare COMMIT: the commit to compare with} before
    shift
    commit=$(git rev-parse --short=12 --verify "$commit^{commit}")
    need compiler postgres redis objects scanner
    scratch
    before=$CACHE/compare/$commit
    [[ -x $before ]] || build_commit "$commit" "$before"
    say "building longshored and trials (release)"
    cargo build --workspace --bins --release "${QUIET[@]}"
    local built=$CARGO_TARGET_DIR/release
    run_interruptible python3 scripts/compare.py --commit "$commit" --before "$before" \
        --after "$built/longshored" --trials "$built/trials" --simulator "$built/simulator" \
        --weed "$(objects_program)" "$@"
}

# The release build of longshored of a commit. It is kept, because a comparison is often repeated: build_commit COMMIT FILE.
build_commit() {
    local commit=$1 file=$2 tree=$SCRATCH/tree
    git worktree add --quiet --detach "$tree" "$commit"
    # The packages of the dashboard, which `deps` installs.
    ln -s "$PWD/crates/dashboard/web/node_modules" "$tree/crates/dashboard/web/node_modules"
    say "building longshored of $commit (release)"
    (cd "$tree" && cargo build --workspace --bins --release "${QUIET[@]}") || {
        git worktree remove --force "$tree"
        return 1
    }
    mkdir -p "$(dirname "$file")"
    cp "$CARGO_TARGET_DIR/release/longshored" "$file.new"
    mv "$file.new" "$file"
    git worktree remove --force "$tree"
}
