# shellcheck shell=bash
# `./dev image`: the image of longshored, from Debian packages and this checkout. Nothing is pulled.

# readelf(1) and strip(1).
missing_image() { have readelf || MISSING+=(binutils); }

missing_containers() {
    have podman || MISSING+=(podman conmon golang-github-containers-common)
    # crun(1) does not run where the limits of processes cannot be raised.
    have runc || MISSING+=(runc)
}

run_image() {
    local trial=false binary='' out version
    version=$(workspace_version)
    out=$PWD/dist/longshore-$version-image.tar
    while [[ $# -gt 0 ]]; do
        case $1 in
            --trial) trial=true ;;
            --binary) binary=${2:?}; shift ;;
            --out) out=${2:?}; shift ;;
            *) fail "usage: ./dev image [--trial] [--binary FILE] [--out FILE]" ;;
        esac
        shift
    done
    if [[ $trial == true ]]; then
        image_trial "$version" "$binary"
    else
        scratch
        build_image "$out" "$version" "$binary"
        say "$out; load it with docker load --input or podman load --input"
    fi
}

workspace_version() { sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1; }

# Set by `./dev release`, whose second build is in a folder without the repository.
REVISION=

# Builds the archive, and prints its digest and sizes as JSON: build_image OUT VERSION [BINARY [GUIDE]]. Without a
# binary, it compiles one as for a release; without a guide, it writes that of this checkout.
build_image() {
    local out=$1 version=$2 binary=${3:-} guide=${4:-} work=$SCRATCH/image
    need image
    rm -rf "$work"
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    mkdir -p "$work/build/out" "$(dirname "$out")"
    if [[ -n $binary ]]; then
        strip --strip-all -o "$work/build/out/longshored" "$binary"
        # The command line for callers is beside the service in every build.
        strip --strip-all -o "$work/build/out/longshore" "$(dirname "$binary")/longshore"
    else
        need compiler
        say "compiling longshored for the image"
        # Other flags than for the usual release build, so that neither replaces the other.
        CARGO_TARGET_DIR=$CACHE/image-target packaging/image/compile.sh "$work/build/out" >&2
    fi
    say "making the root file system from Debian packages"
    make_image_root "$work/root/out"
    compare_libraries "$work/build/out/longshored" "$work/root/out"
    compare_libraries "$work/build/out/longshore" "$work/root/out"
    mkdir -p "$work/guide"
    if [[ -n $guide ]]; then cp -R "$guide" "$work/guide/out"; else build_guide "$work/guide/out"; fi
    # strip(1) and cp(1) follow the umask.
    chmod 755 "$work"/build/out/*
    chmod -R u=rwX,go=rX "$work/guide/out"
    say "writing $out"
    python3 -B packaging/image/archive.py packaging/image/Dockerfile "$out" --tag "longshore:$version" \
        --stage "root=$work/root" --stage "build=$work/build" --stage "guide=$work/guide" \
        --argument "VERSION=$version" --argument "REVISION=${REVISION:-$(git rev-parse HEAD)}"
}

# The lists of packages may be missing, or too old for the packages that exist.
make_image_root() {
    local as=()
    packaging/image/root.sh "$1" 2>"$SCRATCH/root.log" && return
    [[ $EUID == 0 ]] || as=(sudo)
    "${as[@]}" apt-get update -qq >&2
    rm -rf "$1"
    packaging/image/root.sh "$1" || { cat "$SCRATCH/root.log" >&2; fail "the root file system was not made"; }
}

# Every library that the binary links is in the root: compare_libraries BINARY ROOT.
compare_libraries() {
    local library
    while read -r library; do
        [[ -e $2/lib/$library || -e $2/lib64/$library ]] || fail "${1##*/} links $library: add it to packaging/image/root.sh"
    done < <(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
}
