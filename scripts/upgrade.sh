# shellcheck shell=bash
# Builds the version before for `chaos upgrade` and `package`, and others for `compare`, once for each commit.

# Prints the version before: the newest release, or the commit in version-before.txt.
version_before() {
    git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null || cat scripts/version-before.txt
}

# Sets UPGRADE_OPTIONS to the options of the trial: find_version_before PROFILE [--before COMMIT] ARGUMENTS…
find_version_before() {
    local profile=$1 wanted='' small=''
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
    locate_version_before "$profile" "$wanted" "${small:+if-built}"
    [[ ! $BEFORE_COMMIT ]] || UPGRADE_OPTIONS+=(--before "$BEFORE_COMMIT" --before-program "$BEFORE_PROGRAM")
}

# Sets BEFORE_COMMIT and BEFORE_PROGRAM to COMMIT, or the version before, and its longshored, which has longshore beside
# it. It builds them if they are missing; with `if-built`, both stay empty then: locate_version_before PROFILE COMMIT
# [if-built]
locate_version_before() {
    local profile=$1 wanted=$2 mode=${3:-} commit folder
    BEFORE_COMMIT='' BEFORE_PROGRAM=''
    [[ ! $wanted ]] || mode=''
    commit=$(git rev-parse --short=12 --verify --quiet "${wanted:-$(version_before)}^{commit}") || {
        [[ $mode == if-built ]] || fail "${wanted:-the version before} is not in this checkout"
        say "the version before is not in this checkout: this build takes both sides"
        return 0
    }
    folder=$CACHE/before/$commit-$profile
    if [[ ! -x $folder/longshored || ! -x $folder/longshore ]]; then
        if [[ $mode == if-built ]]; then
            say "$commit is not built: this build takes both sides"
            return 0
        fi
        build_commit "$commit" "$profile" "$folder" --package server --bin longshored --package cli --bin longshore
    fi
    BEFORE_COMMIT=$commit BEFORE_PROGRAM=$folder/longshored
}

# Builds longshored of a commit, and longshore if these arguments of cargo-build(1) include it:
# build_commit COMMIT PROFILE FOLDER ARGUMENTS…
build_commit() {
    local commit=$1 profile=$2 folder=$3 output=debug tree=$CACHE/before/$1-tree target=$CACHE/before/target code=0 name
    shift 3
    [[ $profile == dev ]] || output=release
    mkdir -p "$CACHE/before"
    git worktree remove --force "$tree" 2>/dev/null || rm -rf "$tree"
    git worktree prune
    git worktree add --quiet --detach "$tree" "$commit"
    # The packages of the dashboard, which `deps` installs.
    ln -s "$PWD/crates/dashboard/web/node_modules" "$tree/crates/dashboard/web/node_modules"
    say "building $commit ($profile)"
    # Those of another commit.
    rm -f "$target/$output/longshore" "$target/$output/longshored"
    (cd "$tree" && CARGO_TARGET_DIR=$target cargo build "$@" --profile "$profile" "${QUIET[@]}") || code=$?
    git worktree remove --force "$tree"
    ((code == 0)) || return "$code"
    mkdir -p "$folder"
    for name in longshore longshored; do
        [[ -e $target/$output/$name ]] || continue
        cp "$target/$output/$name" "$folder/$name.new"
        mv "$folder/$name.new" "$folder/$name"
    done
}
