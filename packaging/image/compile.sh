#!/usr/bin/env bash
# compile.sh FOLDER: builds longshored and longshore for a release, at the root of a checkout whose npm packages are installed. The
# same commit, compiler and SOURCE_DATE_EPOCH give the same bytes, in any folder.
set -euo pipefail
out=$1
: "${SOURCE_DATE_EPOCH:?set it to the time of the commit: git log -1 --format=%ct}"
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_DEBUG=none CARGO_PROFILE_RELEASE_STRIP=symbols
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
# The names of folders would otherwise be in the messages of panics.
RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"
RUSTFLAGS+=" --remap-path-prefix=$PWD=. --remap-path-prefix=$CARGO_TARGET_DIR=target"
export RUSTFLAGS
cargo build --locked --release --package server --bin longshored --package cli --bin longshore
install -D -m 755 "$CARGO_TARGET_DIR/release/longshored" "$out/longshored"
install -D -m 755 "$CARGO_TARGET_DIR/release/longshore" "$out/longshore"
