"""`./dev compare`: measures two builds of longshored in turns, and the older one twice to see the noise."""

import argparse
import json
import statistics
import subprocess
import sys

# The benchmarks of a round.
BENCHES = {
    "load": ["load", "--rounds", "1", "--seconds", "2", "--organizations", "200"],
    "journey": ["journey", "--seconds", "8"],
}
MIN_RATIO = 0.97


def rates(verdict):
    """The rates of a verdict, by name. CPU time does not count what the machine gave to others."""
    if verdict["name"] == "bench journey":
        per_cpu_second = 1000 / verdict["cpu_seconds_per_thousand"]
        return {"journey": verdict["cargo_per_second"], "journey by CPU time": per_cpu_second}
    return {f"load, {it['name']}": it["loads_per_second"] for it in verdict["variants"]}


def measure(arguments, longshored, bench):
    command = [arguments.trials, "--longshored", longshored, "--simulator", arguments.simulator]
    command += ["--weed", arguments.weed, "bench", *BENCHES[bench]]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    # The benchmark's own limits may fail in so short a run; only the rate counts here.
    last = [line for line in ended.stdout.splitlines() if line.startswith('{"name"')][-1:]
    if not last:
        sys.exit(f"bench {bench} of {longshored} ended without a verdict")
    return rates(json.loads(last[0]))


def main():
    parser = argparse.ArgumentParser(prog="./dev compare COMMIT")
    for name in ["commit", "before", "after", "trials", "simulator", "weed"]:
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", choices=BENCHES)
    arguments = parser.parse_args()
    after_to_before, before_to_itself = {}, {}
    for number in range(1, arguments.rounds + 1):
        for bench in [arguments.only] if arguments.only else BENCHES:
            before = measure(arguments, arguments.before, bench)
            after = measure(arguments, arguments.after, bench)
            again = measure(arguments, arguments.before, bench)
            for name, rate in before.items():
                # The mean of the runs before and after cancels a slow drift.
                baseline = (rate + again[name]) / 2
                after_to_before.setdefault(name, []).append(after[name] / baseline)
                before_to_itself.setdefault(name, []).append(again[name] / rate)
                print(
                    f"compare: round {number}, {name}: before {rate:.0f} and {again[name]:.0f}, "
                    f"after {after[name]:.0f} a second",
                    file=sys.stderr,
                    flush=True,
                )
    figures = {
        name: {
            "after_to_before": round(statistics.median(ratios), 3),
            "before_to_itself": round(statistics.median(before_to_itself[name]), 3),
            "rounds": [round(ratio, 3) for ratio in ratios],
        }
        for name, ratios in after_to_before.items()
    }
    slower = [name for name, of in figures.items() if of["after_to_before"] < MIN_RATIO]
    broken = [f"{name}: at least {MIN_RATIO} of the rate before" for name in slower]
    verdict = {"name": "compare", "ok": not slower, "broken": broken}
    print(json.dumps({**verdict, "before": arguments.commit, "rounds": arguments.rounds, "rates": figures}))
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
