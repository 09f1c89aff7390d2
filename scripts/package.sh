# shellcheck shell=bash
# The Debian package: building it, checking its files, and `./dev package`, which installs it in a booted container.

# systemd-analyze(1) counts from 0 (confined) to 10. The option --threshold wants tenths.
readonly MAX_UNIT_EXPOSURE=20
readonly UNIT_ROLES=(serve work all)

# Writes longshore_VERSION_ARCHITECTURE.deb: build_deb VERSION BINARY FOLDER GUIDE. Needs SOURCE_DATE_EPOCH.
build_deb() {
    local version=${1/-/\~} binary=$2 folder=$3 guide=$4 root=$SCRATCH/deb architecture
    architecture=$(dpkg --print-architecture)
    rm -rf "$root"
    (
        umask 022
        stage_deb "$binary" "$root" "$guide"
        stage_deb_control "$version" "$architecture" "$binary" "$root"
        find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    )
    # More threads would split the stream at other places.
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" \
        "$folder/longshore_${version}_$architecture.deb" >&2
    rm -rf "$root"
}

# What the package installs: stage_deb BINARY ROOT GUIDE. The command line for callers is beside the binary.
stage_deb() {
    local binary=$1 root=$2 guide=$3 from=packaging/debian documents=$2/usr/share/doc/longshore role
    install -D -m 755 "$binary" "$root/usr/bin/longshored"
    install -D -m 755 "$(dirname "$binary")/longshore" "$root/usr/bin/longshore"
    install -D -m 755 "$from/longshored-run" "$root/usr/sbin/longshored-run"
    install -D -m 644 "$from/longshore.sysusers" "$root/usr/lib/sysusers.d/longshore.conf"
    mkdir -p "$root/usr/lib/systemd/system" "$root/etc/longshore" "$root/usr/share/longshore" "$documents"
    cp -R "$guide" "$root/usr/share/longshore/guide"
    chmod -R u=rwX,go=rX "$root/usr/share/longshore"
    for role in "${UNIT_ROLES[@]}"; do
        render_unit "$role" >"$root/usr/lib/systemd/system/longshored-$role.service"
    done
    install -m 600 "$from/longshored.env" "$from/longshored-work.env" "$root/etc/longshore/"
    install -m 644 models.toml providers.toml "$root/etc/longshore/"
    install -m 644 docs/*.md "$documents/"
    install -D -m 644 -t "$documents/runbooks" docs/runbooks/*.md
    install -m 644 NOTICE models.current.toml "$documents/"
    {
        printf 'Longshore is under the licence below. NOTICE names the software inside the program.\n\n'
        cat LICENSE
    } >"$documents/copyright"
    gzip --best --no-name <CHANGELOG.md >"$documents/changelog.gz"
    chmod 644 "$root"/usr/lib/systemd/system/* "$documents"/*
}

# What dpkg(1) reads: stage_deb_control VERSION ARCHITECTURE BINARY ROOT.
stage_deb_control() {
    local version=$1 architecture=$2 binary=$3 root=$4 from=packaging/debian size glibc
    size=$(find "$root" -type f -printf '%s\n' | awk '{sum += $1} END {print int((sum + 1023) / 1024)}')
    glibc=$(objdump -T "$binary" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
    mkdir "$root/DEBIAN"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$SCRATCH/md5sums"
    mv "$SCRATCH/md5sums" "$root/DEBIAN/md5sums"
    sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/" \
        -e "s/@INSTALLED_SIZE@/$size/; s/@GLIBC@/${glibc#GLIBC_}/" "$from/control.in" >"$root/DEBIAN/control"
    install -m 644 "$from/conffiles" "$root/DEBIAN/"
    install -m 755 "$from/postinst" "$from/prerm" "$from/postrm" "$root/DEBIAN/"
}

render_unit() { sed "s/@ROLE@/$1/g" packaging/debian/longshored.service.in; }

# For `./dev check`, in a second or two. The program is not needed.
check_package() {
    local script
    for script in longshored-run postinst prerm postrm; do sh -n "packaging/debian/$script" || return; done
    python3 -B scripts/release_notes.py print "$(cargo_version)" >/dev/null || return
    check_units || return
    compare_packages
}

# The units have no misspelt option, and are confined.
check_units() {
    local role unit
    have systemd-analyze || { echo "systemd-analyze(1) is missing: the units were not checked" >&2; return 0; }
    for role in "${UNIT_ROLES[@]}"; do
        unit=$SCRATCH/longshored-$role.service
        # A program that is not installed here would be an error.
        render_unit "$role" | sed 's|/usr/bin/longshored|/bin/true|' >"$unit"
        systemd-analyze verify --recursive-errors=no --man=no "$unit" || return
        systemd-analyze security --offline=true --threshold="$MAX_UNIT_EXPOSURE" "$unit" >"$SCRATCH/security" ||
            { cat "$SCRATCH/security" >&2; return 1; }
    done
}

# Two packages with the same content have the same bytes. Any program will do.
compare_packages() {
    local copy program file
    if ! have dpkg-deb || ! have objdump; then
        echo "dpkg-deb(1) or objdump(1) is missing: no package was built" >&2
        return
    fi
    program=$SCRATCH/longshored
    install -m 755 "$(readlink -f /bin/true)" "$program"
    install -m 755 "$program" "$SCRATCH/longshore"
    mkdir -p "$SCRATCH/any-guide"
    echo '<!doctype html>' >"$SCRATCH/any-guide/index.html"
    for copy in one two; do
        mkdir -p "$SCRATCH/$copy"
        (
            export SOURCE_DATE_EPOCH=1760000000
            build_deb 0.0.0-check "$program" "$SCRATCH/$copy" "$SCRATCH/any-guide"
        ) || return
    done
    diff --recursive --brief "$SCRATCH/one" "$SCRATCH/two" >&2 || return
    for file in bin/longshored bin/longshore share/longshore/guide/index.html; do
        dpkg-deb --contents "$SCRATCH"/one/*.deb | grep "root/root .* ./usr/$file\$" >/dev/null ||
            { echo "the package has no /usr/$file" >&2; return 1; }
    done
}

# Installs, starts, restarts, upgrades, removes and purges the package in a container that boots systemd: package
# [--release]. With --release, the program is that of `./dev release`, and the upgrade is from the version before.
# Otherwise the program is the debug build, and the upgrade is from the version before only if that is built already.
package() {
    local program=$LONGSHORED root=$CACHE/container began=$SECONDS exposure before
    need compiler container book
    [[ $EUID == 0 ]] || fail "./dev package boots a container: run it as root"
    scratch
    export SOURCE_DATE_EPOCH=1760000000
    if [[ ${1:-} == --release ]]; then
        build_release_binary "$PWD" "$CACHE/release"
        program=$CACHE/release/release/longshored
        locate_version_before release ''
    else
        build_longshored
        cargo build --workspace --bin longshore "${QUIET[@]}"
        # The debug build is large, and most of it is for debuggers.
        strip --strip-debug -o "$SCRATCH/longshored" "$program"
        strip --strip-debug -o "$SCRATCH/longshore" "$(dirname "$program")/longshore"
        program=$SCRATCH/longshored
        locate_version_before dev '' if-built
    fi
    build_guide "$SCRATCH/guide"
    container_root "$root"
    mkdir -p "$SCRATCH/root"
    say "unpacking the root of the container"
    tar --extract --numeric-owner --file="$root/root.tar" -C "$SCRATCH/root"
    mkdir -p "$SCRATCH/root/trial"
    build_deb 0.0.2 "$program" "$SCRATCH/root/trial" "$SCRATCH/guide"
    if [[ -n $BEFORE_COMMIT ]]; then
        before=$BEFORE_COMMIT
        build_deb_before 0.0.1 "$SCRATCH/root/trial"
        git diff --quiet "$before" -- crates/store/migrations || touch "$SCRATCH/root/trial/has-new-migrations"
    else
        before="this build"
        build_deb 0.0.1 "$program" "$SCRATCH/root/trial" "$SCRATCH/guide"
    fi
    say "the upgrade is from $before"
    install -m 755 scripts/package_trial.sh "$SCRATCH/root/trial/run"
    install -m 644 scripts/package-trial.service "$SCRATCH/root/etc/systemd/system/"
    mkdir -p "$SCRATCH/root/etc/systemd/system/multi-user.target.wants"
    ln -s ../package-trial.service "$SCRATCH/root/etc/systemd/system/multi-user.target.wants/package-trial.service"
    say "booting the container"
    timeout --kill-after=10 600 systemd-nspawn --quiet --boot --register=no --keep-unit --private-network \
        --directory="$SCRATCH/root" </dev/null >"$SCRATCH/boot.log" 2>&1 || true
    cat "$SCRATCH/root/trial/log" >&2 || true
    [[ -f $SCRATCH/root/trial/passed ]] || { tail -n 30 "$SCRATCH/boot.log" >&2; fail "the package failed: see above"; }
    exposure=$(cat "$SCRATCH/root/trial/exposure")
    say "the package installs, starts, restarts, upgrades from $before and is removed; exposure $exposure of 10"
    printf '{"name": "package", "ok": true, "seconds": %s, "exposure": %s, "before": "%s"}\n' \
        "$((SECONDS - began))" "$exposure" "$before"
}

# The package of the version before, with its own scripts and files: build_deb_before VERSION FOLDER. Needs what
# locate_version_before sets.
build_deb_before() {
    local version=$1 folder=$2 tree=$SCRATCH/tree-before programs=$SCRATCH/programs-before name
    mkdir -p "$tree" "$programs"
    git archive "$BEFORE_COMMIT" | tar --extract -C "$tree"
    for name in longshored longshore; do
        strip --strip-debug -o "$programs/$name" "$(dirname "$BEFORE_PROGRAM")/$name"
    done
    # A version without a guide in its package ignores the last argument.
    # shellcheck disable=SC2016
    (cd "$tree" && bash -euo pipefail -c 'source scripts/common.sh; source scripts/package.sh; SCRATCH=$1
        build_deb "${@:2}"' build_deb "$SCRATCH" "$version" "$programs/longshored" "$folder" "$SCRATCH/guide")
}

# A root with systemd and PostgreSQL, made once: container_root FOLDER.
container_root() {
    local folder=$1 codename sources=()
    [[ ! -f $folder/root.tar ]] || return 0
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
        \( -name '*.list' -o -name '*.sources' \) -size +0 2>/dev/null | sort)
    say "making a root of Debian $codename with systemd and PostgreSQL"
    mkdir -p "$folder"
    mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
        --include=systemd,systemd-sysv,dbus,procps,ca-certificates,curl,postgresql "$codename" "$folder/new.tar" \
        "${sources[@]}" >&2
    mv "$folder/new.tar" "$folder/root.tar"
}
