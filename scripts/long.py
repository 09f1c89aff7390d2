"""The record of `./dev long`, docs/performance.jsonl: one line for the last run of each verb.

`add` writes a line, `table` writes the tables of docs/performance.md and prints a summary, and `check` fails while
the page and the record differ.
"""

import datetime
import json
import os
import re
import sys

from long_figures import FIGURES

RECORD = "docs/performance.jsonl"
PAGE = "docs/performance.md"
BLOCK = re.compile(r"(<!-- long: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def read_verdict(log):
    """The verdict at the end of a trial's log; other verbs have none."""
    with open(log, errors="replace") as lines:
        last = [line for line in lines if line.startswith('{"name"')][-1:]
    try:
        return json.loads(last[0]) if last else {}
    except ValueError:
        return {}


def find(verdict, path):
    """The value at a path such as `variants.0.ratio`; None if there is none."""
    for step in path.split("."):
        if isinstance(verdict, list) and step.isdecimal() and int(step) < len(verdict):
            verdict = verdict[int(step)]
        elif isinstance(verdict, dict):
            verdict = verdict.get(step)
        else:
            return None
    return verdict


def base_name(verb):
    """A verb without its options."""
    return verb.split(" --")[0]


def read_figures(verb, verdict):
    """The figures to show, and a complaint for each that a complete verdict does not have."""
    figures, missing = {}, []
    for label, paths in FIGURES.get(base_name(verb), {}).items():
        values = [find(verdict, path) for path in paths.split()]
        if None not in values:
            figures[label] = values
        elif verdict.get("ok"):
            missing.append(f"the verdict has no figure: {label}")
    return figures, missing


def read_record():
    if not os.path.exists(RECORD):
        return {}
    with open(RECORD) as lines:
        entries = [json.loads(line) for line in lines]
    return {entry["verb"]: entry for entry in entries}


def add(log):
    verb, code = os.environ["LONG_VERB"], int(os.environ["LONG_CODE"])
    verdict = read_verdict(log)
    figures, missing = read_figures(verb, verdict)
    record = read_record()
    record[verb] = {
        "verb": verb,
        "commit": os.environ["LONG_COMMIT"],
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "ok": code == 0,
        "seconds": int(os.environ["LONG_SECONDS"]),
        "cores": os.cpu_count(),
        "broken": verdict.get("broken", []) + missing,
        "figures": figures,
    }
    with open(RECORD, "w") as file:
        file.writelines(json.dumps(entry) + "\n" for _, entry in sorted(record.items()))


def format_value(value):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str) else f"{value:,}"


def format_summary(record):
    if not record:
        return "No run is recorded yet.\n"
    rows = ["| verb | result | commit | date | duration | cores |", "|---|---|---|---|---|---|"]
    for verb, entry in record.items():
        result = "; ".join(["ok" if entry["ok"] else "failed"] + entry["broken"])
        where = f"`{entry['commit']}` | {entry['date']} | {entry['seconds']:,} s | {entry['cores']}"
        rows.append(f"| `./dev {verb}` | {result} | {where} |")
    return "\n".join(rows) + "\n"


def format_figures(name, record):
    entries = [entry for verb, entry in record.items() if base_name(verb) == name]
    if not entries:
        return ""
    entry = entries[0]
    rows = [f"`./dev {entry['verb']}` at `{entry['commit']}`, {entry['date']}:", "", "| | |", "|---|---|"]
    for label, values in entry["figures"].items():
        rows.append(f"| {label} | {', '.join(map(format_value, values))} |")
    return "\n".join(rows) + "\n"


def make_page(page, record):
    """The page with its blocks written from the record."""

    def replace(match):
        opening, name, _, closing = match.groups()
        body = format_summary(record) if name == "summary" else format_figures(name, record)
        return f"{opening}{body}{closing}"

    return BLOCK.sub(replace, page)


def find_faults(page, record):
    """What is wrong with the page; empty when it agrees with the record."""
    blocks = [match.group(2) for match in BLOCK.finditer(page)]
    expected = ["summary", *FIGURES]
    faults = [f"{PAGE} has no block for {name}" for name in expected if name not in blocks]
    faults += [f"{PAGE} has a block for {name}, which has no figures" for name in blocks if name not in expected]
    if make_page(page, record) != page:
        faults.append(f"{PAGE} and {RECORD} differ: run ./dev long --table")
    return faults


def table():
    record = read_record()
    with open(PAGE) as file:
        page = file.read()
    with open(PAGE, "w") as file:
        file.write(make_page(page, record))
    for verb, entry in record.items():
        result = "ok" if entry["ok"] else "FAILED"
        print(f"{verb:30}  {result:6}  {entry['seconds']:6} s  {entry['commit']}  {'; '.join(entry['broken'])}".rstrip())
    return all(entry["ok"] for entry in record.values())


def check():
    with open(PAGE) as file:
        faults = find_faults(file.read(), read_record())
    for fault in faults:
        print(fault, file=sys.stderr)
    return not faults


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    sys.exit({"add": add, "table": table, "check": check}[verb](*arguments) is False)
