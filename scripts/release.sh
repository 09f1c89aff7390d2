# shellcheck shell=bash
# `./dev release`: all files of a release, in dist/release. Two runs at one commit give the same bytes.

DIST=$PWD/dist/release

# release VERSION; release --trial [--twice]; release prepare VERSION [DATE].
release() {
    local version='' trial='' twice='' argument
    if [[ ${1:-} == prepare ]]; then
        release_prepare "${@:2}"
        return
    fi
    for argument in "$@"; do
        case $argument in
            --trial) trial=yes ;;
            --twice) twice=yes ;;
            -*) fail "usage: ./dev release VERSION | --trial [--twice] | prepare VERSION [DATE]" ;;
            *) version=$argument ;;
        esac
    done
    need compiler auditable release image helm book
    if [[ -n $trial ]]; then version=$(cargo_version); else check_release "$version"; fi
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    REVISION=$(git rev-parse HEAD)
    export SOURCE_DATE_EPOCH LC_ALL=C
    scratch
    release_into "$DIST" "$PWD" "$CACHE/release" "$version"
    [[ -z $twice ]] || release_twice "$version"
    [[ -n $trial ]] || release_sign "$version"
    say "dist/release has the release $version"
    printf '{"name": "release", "ok": true, "version": "%s", "files": %s, "twice": %s}\n' \
        "$version" "$(find "$DIST" -type f | wc -l)" "$([[ -n $twice ]] && echo true || echo false)"
}

# Where the version is decided.
cargo_version() { sed -n '/^\[workspace.package\]$/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml; }

# Whether this checkout can be released as this version.
check_release() {
    local version=$1
    [[ -n $version ]] || fail "usage: ./dev release VERSION, or ./dev release --trial"
    [[ $version == "$(cargo_version)" ]] ||
        fail "Cargo.toml has version $(cargo_version): ./dev release prepare $version"
    [[ -z $(git status --porcelain) ]] || fail "the checkout has changes that are not committed"
    grep -qF "## $version (" CHANGELOG.md || fail "CHANGELOG.md has no section for $version"
    cmp --silent openapi.json openapi.released.json || fail "copy openapi.json over openapi.released.json"
}

# Changes the version wherever it is written, dates the section of the changelog, and takes the API as released.
release_prepare() {
    local version=${1:?} date=${2:-$(date -u +%F)}
    need compiler
    sed -i "/^\[workspace.package\]\$/,/^\[/s/^version = \".*\"\$/version = \"$version\"/" Cargo.toml
    cargo update --workspace --offline "${QUIET[@]}"
    sed -i "s/^version: .*/version: $version/; s/^appVersion: .*/appVersion: \"$version\"/" chart/Chart.yaml
    sed -i "s/longshore:[0-9][0-9.]*/longshore:$version/" compose/compose.yaml packaging/image/Dockerfile
    sed -i "s/^ARG VERSION=.*/ARG VERSION=$version/" packaging/image/Dockerfile
    python3 -B scripts/release_notes.py date "$version" "$date"
    write_openapi
    cp openapi.json openapi.released.json
    say "review the changes, commit them, and tag the commit v$version"
}

# Builds from a copy of the checkout with another name and depth, in another target folder, and compares all files.
release_twice() {
    local version=$1 copy=$SCRATCH/another/folder/checkout
    say "the same from a copy of the checkout"
    mkdir -p "$copy"
    git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar --extract -C "$copy"
    (cd "$copy" && node_packages crates/dashboard/web)
    release_into "$SCRATCH/dist" "$copy" "$SCRATCH/target" "$version"
    diff --recursive --brief "$DIST" "$SCRATCH/dist" >&2 || fail "the two releases differ"
    say "both have the same bytes"
}

# All files but the signature: release_into FOLDER SOURCE TARGET VERSION.
release_into() {
    local folder=$1 source=$2 target=$3 version=$4 name
    rm -rf "$folder"
    mkdir -p "$folder"
    build_release_binary "$source" "$target"
    name=longshore-$version-$(uname -m)-linux-gnu
    (
        cd "$source"
        # The image and the package have the same guide as the archive.
        build_guide "$SCRATCH/guide"
        build_archive "$name" "$target/release/longshored" "$folder/$name.tar.zst"
        build_guide_archive "longshore-$version-guide" "$SCRATCH/guide" "$folder/longshore-$version-guide.tar.zst"
        build_deb "$version" "$target/release/longshored" "$folder" "$SCRATCH/guide"
        build_image "$folder/longshore-$version-$(uname -m)-image.tar" "$version" "$target/release/longshored" \
            "$SCRATCH/guide" >&2
        package_chart "$folder/longshore-$version-chart.tgz"
        python3 -B scripts/sbom.py "$version" >"$folder/longshore-$version.cdx.json"
        python3 -B scripts/release_notes.py print "$version" >"$folder/RELEASE_NOTES.md"
    )
    (cd "$folder" && sha256sum -- * >"$SCRATCH/sums" && mv "$SCRATCH/sums" SHA256SUMS)
}

# Nothing in the program depends on the folders or the time: build_release_binary SOURCE TARGET.
build_release_binary() {
    local source=$1 target=$2 flags build=(cargo build)
    ! have cargo-auditable || build=(cargo auditable build)
    flags=--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates
    flags+=$'\x1f'--remap-path-prefix=$source=.$'\x1f'--remap-path-prefix=$target=target
    say "building longshored for the release, in $target"
    (
        cd "$source"
        export CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0
        export CARGO_PROFILE_RELEASE_DEBUG=none CARGO_PROFILE_RELEASE_STRIP=symbols
        "${build[@]}" --locked --release --package server --bin longshored --package cli \
            --bin longshore "${QUIET[@]}"
    )
}

# The program with its licences and examples: build_archive NAME BINARY FILE.
build_archive() {
    local name=$1 binary=$2 file=$3 folder=$SCRATCH/archive
    rm -rf "$folder"
    install -D -m 755 "$binary" "$folder/$name/longshored"
    install -m 755 "$(dirname "$binary")/longshore" "$folder/$name/longshore"
    install -m 644 LICENSE NOTICE CHANGELOG.md models.toml providers.toml "$folder/$name/"
    pack "$folder" "$name" "$file"
}

# The documents of this version, for any web server or opened as files: build_guide_archive NAME GUIDE FILE.
build_guide_archive() {
    local name=$1 guide=$2 file=$3 folder=$SCRATCH/guide-archive
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -R "$guide" "$folder/$name"
    pack "$folder" "$name" "$file"
}

# The same files give the same bytes: pack FOLDER NAME FILE.
pack() {
    tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX -C "$1" "$2" | zstd --quiet --force -19 --threads=1 -o "$3"
}

# SHA256SUMS is signed with minisign(1), or with gpg(1), if a key is given.
release_sign() {
    local version=$1 comment
    comment="version:$version commit:$(git rev-parse HEAD) epoch:$SOURCE_DATE_EPOCH"
    if [[ -n ${LONGSHORE_MINISIGN_KEY:-} ]]; then
        need minisign
        minisign -S -s "$LONGSHORE_MINISIGN_KEY" -m "$DIST/SHA256SUMS" -t "$comment" >&2
    elif [[ -n ${LONGSHORE_GPG_KEY:-} ]]; then
        gpg --batch --yes --local-user "$LONGSHORE_GPG_KEY" --armor --detach-sign "$DIST/SHA256SUMS"
    else
        say "not signed: set LONGSHORE_MINISIGN_KEY to a file, or LONGSHORE_GPG_KEY to an id"
    fi
}
