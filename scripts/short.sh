# shellcheck shell=bash
# Every bench and chaos trial in the debug build, each for as short as it shows that it still works. Promises
# are judged; figures are printed, and only a release build judges them.

# One verb per line. Rates are what the debug build can sustain on two cores. A test compares the
# list with the command line of tools/trials; `./dev long` runs the same in full.
short_verbs() {
    cat <<'END'
bench load --small
bench bulk --small
bench journey --small
bench journey --small --encrypted
bench journey --small --tracing 1
bench gather --small
bench batches --small
bench videos --small
bench routes --small
bench waits --small
bench pages --small
bench history --small
bench audit --small
chaos kill --seconds 15 --rate 40
chaos connections --seconds 15 --rate 40
chaos restart --seconds 15 --rate 40
chaos shard --seconds 6 --rate 10
chaos limits --rounds 2 --waits 2
chaos redis --seconds 3 --rate 40
chaos files --uploads 200
chaos scanner
chaos store --seconds 8 --rate 30
chaos submit --seeds 1 --points 8 --cargo 200 --minutes 12
chaos freeze --rounds 1 --most-seconds 15 --rate 20
chaos partition --rounds 2 --most-seconds 10 --rate 20
chaos promote --rounds 2 --rate 20
chaos promote --rounds 1 --rate 20 --hosts list
chaos restore --small
chaos failover --rounds 1 --rate 20 --ttl 15
chaos statements --seconds 15 --rate 30
chaos overload --small --part load --part distance --part clocks
chaos overload --part disk --seconds 12
chaos neighbours --small
chaos idle --small
chaos markers --small
chaos alerts --small
chaos cancel --small
chaos run --small
chaos listen --cargo 5
chaos upgrade --small
chaos server --cargo 20 --schemas 4
END
}

# short [WORD]: all of them, or those whose line contains the word. short --list: only their names.
short() {
    local verb words
    if [[ ${1:-} == --list ]]; then
        short_verbs
        return
    fi
    while read -r -u 3 verb; do
        [[ $verb == *"${1:-}"* ]] || continue
        read -r -a words <<<"$verb"
        say "./dev $verb"
        ./dev "${words[@]}"
    done 3< <(short_verbs)
}
