# shellcheck shell=bash
# Builds the version before for `chaos upgrade`, once for each commit.

# Prints the version before: the newest release, or the commit in version-before.txt.
version_before() {
    git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null || cat scripts/version-before.txt
}

# Sets UPGRADE_OPTIONS to the options of the trial: find_version_before PROFILE [--before COMMIT] ARGUMENTS…
find_version_before() {
    local profile=$1 wanted='' small='' commit folder
    shift
    UPGRADE_OPTIONS=()
    while (($#)); do
        case $1 in
            --before) wanted=${2:?--before COMMIT} && shift ;;
            --small) small=1 && UPGRADE_OPTIONS+=("$1") ;;
            *) UPGRADE_OPTIONS+=("$1") ;;
        esac
        shift
    done
    commit=$(git rev-parse --short=12 --verify --quiet "${wanted:-$(version_before)}^{commit}") || {
        [[ $small && ! $wanted ]] || fail "${wanted:-the version before} is not in this checkout"
        say "the version before is not in this checkout: this build takes both sides"
        return
    }
    folder=$CACHE/before/$commit-$profile
    if [[ ! -x $folder/longshored ]]; then
        if [[ $small && ! $wanted ]]; then
            say "$commit is not built: this build takes both sides"
            return
        fi
        build_version_before "$commit" "$profile" "$folder"
    fi
    UPGRADE_OPTIONS+=(--before "$commit" --before-program "$folder/longshored")
}

# Builds longshored of a commit: build_version_before COMMIT PROFILE FOLDER
build_version_before() {
    local commit=$1 profile=$2 folder=$3 output=debug tree=$CACHE/before/$1-tree target=$CACHE/before/target code=0
    [[ $profile == dev ]] || output=release
    mkdir -p "$CACHE/before"
    git worktree remove --force "$tree" 2>/dev/null || rm -rf "$tree"
    git worktree prune
    git worktree add --quiet --detach "$tree" "$commit"
    # The packages of the dashboard, which `deps` installs.
    ln -s "$PWD/crates/dashboard/web/node_modules" "$tree/crates/dashboard/web/node_modules"
    say "building longshored of $commit ($profile)"
    (cd "$tree" && CARGO_TARGET_DIR=$target cargo build --package server --bin longshored --profile "$profile" \
        "${QUIET[@]}") || code=$?
    git worktree remove --force "$tree"
    ((code == 0)) || return "$code"
    mkdir -p "$folder"
    cp "$target/$output/longshored" "$folder/longshored.new"
    mv "$folder/longshored.new" "$folder/longshored"
}
