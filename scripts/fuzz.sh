# shellcheck shell=bash
# `./dev fuzz`: libFuzzer on the parsers of uploaded bytes, with the usual compiler.

# Coverage for the fuzzer, and a sanitizer for the memory of C code and of unsafe code in libraries.
FUZZ_FLAGS=(--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Ccodegen-units=1)
# A file that exceeds these limits is a finding. The sanitizer needs a part of the memory.
readonly FUZZ_TIMEOUT=10 FUZZ_MEMORY_MB=1024 FUZZ_LONGEST=65536
# Larger allocations fail, as in the child process. Code that checks for the failure continues.
readonly FUZZ_SANITIZER=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=384

# Ends with one line of JSON on standard output: run_fuzz sniff|probe [--seconds N].
run_fuzz() {
    local target=${1:-} seconds=60
    [[ $target == sniff || $target == probe ]] || fail "usage: ./dev fuzz sniff|probe|api …"
    [[ ${2:-} != --seconds ]] || seconds=$3
    need compiler
    have c++ || packages g++
    build_fuzz "$target"
    scratch
    local folder=$CACHE/fuzz/$target built=$CACHE/fuzz-target/x86_64-unknown-linux-gnu/release
    # The corpus of earlier runs is kept, in addition to the seeds of this build.
    mkdir -p "$folder/corpus" "$folder/findings" "$SCRATCH/seeds"
    ASAN_OPTIONS=detect_leaks=0 "$built/seeds" "$target" "$SCRATCH/seeds" "$FUZZ_LONGEST"
    local known code=0 began=$SECONDS
    known=$(findings "$folder")
    say "fuzzing $target for $seconds s"
    ASAN_OPTIONS=$FUZZ_SANITIZER run_interruptible "$built/$target" \
        -max_total_time="$seconds" -timeout="$FUZZ_TIMEOUT" -rss_limit_mb="$FUZZ_MEMORY_MB" \
        -max_len="$FUZZ_LONGEST" -print_final_stats=1 \
        -artifact_prefix="$folder/findings/" "$folder/corpus" "$SCRATCH/seeds" \
        >"$SCRATCH/log" 2>&1 || code=$?
    report_fuzz "$target" "$code" "$((SECONDS - began))" "$(($(findings "$folder") - known))"
    return "$code"
}

findings() { find "$1/findings" -type f | wc -l; }

report_fuzz() {
    local target=$1 code=$2 seconds=$3 crashes=$4 executions ok=true
    executions=$(awk '/stat::number_of_executed_units/ { print $2 }' "$SCRATCH/log")
    if [[ $code != 0 ]]; then
        ok=false
        tail -n 40 "$SCRATCH/log" >&2
        say "the findings are in $CACHE/fuzz/$target/findings"
    fi
    printf '{"name":"fuzz %s","ok":%s,"executions":%s,"seconds":%s,"crashes":%s}\n' \
        "$target" "$ok" "${executions:-0}" "$seconds" "$crashes"
}

# RUSTC_BOOTSTRAP lets a stable compiler accept these unstable flags.
build_fuzz() {
    say "building the fuzz target $1"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="${FUZZ_FLAGS[*]}" CARGO_TARGET_DIR=$CACHE/fuzz-target \
        cargo build --manifest-path fuzz/Cargo.toml --release --target x86_64-unknown-linux-gnu \
        --locked --bin "$1" --bin seeds "${QUIET[@]}"
}
