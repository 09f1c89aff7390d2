"""The results of `./dev long`: one line of JSON for each verb that was run, and a table of the latest."""

import datetime
import json
import os
import sys


def verdict_in(log):
    """The verdict at the end of a trial's log; other verbs have none."""
    with open(log, errors="replace") as lines:
        last = [line for line in lines if line.startswith('{"name"')][-1:]
    try:
        return json.loads(last[0]) if last else None
    except ValueError:
        return None


def add(results, log):
    entry = {
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": os.environ["LONG_COMMIT"],
        "verb": os.environ["LONG_VERB"],
        "ok": os.environ["LONG_CODE"] == "0",
        "exit_code": int(os.environ["LONG_CODE"]),
        "seconds": int(os.environ["LONG_SECONDS"]),
        "verdict": verdict_in(log),
    }
    with open(results, "a") as file:
        file.write(json.dumps(entry) + "\n")


def table(results):
    """The latest result of each verb. Fails when one of them failed."""
    latest = {}
    with open(results) as lines:
        for line in lines:
            entry = json.loads(line)
            latest[entry["verb"]] = entry
    width = max(len(verb) for verb in latest)
    for verb, entry in latest.items():
        broken = (entry["verdict"] or {}).get("broken", [])
        result = "ok" if entry["ok"] else "FAILED"
        print(f"{verb:{width}}  {result:6}  {entry['seconds']:6} s  {entry['commit']}  {'; '.join(broken)}".rstrip())
    sys.exit(not all(entry["ok"] for entry in latest.values()))


if __name__ == "__main__":
    {"add": add, "table": table}[sys.argv[1]](*sys.argv[2:])
