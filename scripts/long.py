"""The record of `./dev long`, docs/performance.jsonl: one line for the last run of each verb.

Of `soak` it has every run with the last program that was measured, and of `compare` one for each of its arguments.
Commits that change only documents and records have the same program.

`add` writes a line, `table` writes the tables of docs/performance.md and prints a summary, and `check` fails while
the page and the record differ.
"""

import datetime
import json
import os
import re
import sys

from long_figures import FIGURES, REPEATED, SUMMED

RECORD = "docs/performance.jsonl"
PAGE = "docs/performance.md"
BLOCK = re.compile(r"(<!-- long: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# With these options a run lacks some figures.
PARTIAL_OPTIONS = {"--only", "--part"}
MISSING = object()
# Shorter soaks do not run every trial.
MIN_SUMMED_SECONDS = 30 * 60


def read_verdict(log):
    """The verdict at the end of a trial's log; other verbs have none."""
    with open(log, errors="replace") as lines:
        last = [line for line in lines if line.startswith('{"name"')][-1:]
    try:
        return json.loads(last[0]) if last else {}
    except ValueError:
        return {}


def find(verdict, path):
    """The value at a path such as `variants.0.ratio`, or MISSING."""
    for step in path.split("."):
        if isinstance(verdict, list) and step.isdecimal() and int(step) < len(verdict):
            verdict = verdict[int(step)]
        elif isinstance(verdict, dict) and step in verdict:
            verdict = verdict[step]
        else:
            return MISSING
    return verdict


def base_name(verb):
    """A verb without its arguments, unless they measure something else."""
    names = (name for name in FIGURES if f"{verb} ".startswith(f"{name} "))
    return max(names, key=len, default=verb.split(" --")[0])


def read_figures(verb, verdict):
    """The figures to show, and a complaint for each that a complete verdict does not have."""
    figures, missing = {}, []
    is_complete = verdict.get("ok") and PARTIAL_OPTIONS.isdisjoint(verb.split())
    for label, paths in FIGURES.get(base_name(verb), {}).items():
        values = [find(verdict, path) for path in (paths.split() if isinstance(paths, str) else paths)]
        if MISSING not in values:
            figures[label] = values
        elif is_complete:
            missing.append(f"the verdict has no figure: {label}")
    return figures, missing


def read_record():
    if not os.path.exists(RECORD):
        return []
    with open(RECORD) as lines:
        return [json.loads(line) for line in lines]


def program_of(entry):
    return entry.get("program", entry["commit"])


def has_same_program(one, another):
    """Whether two runs measured the same program. No one knows what uncommitted changes were."""
    return program_of(one) == program_of(another) and not program_of(one).endswith("-dirty")


def is_replaced(entry, new):
    """Whether a new run makes an earlier one worthless."""
    name = base_name(new["verb"])
    if name in REPEATED and base_name(entry["verb"]) == name and not has_same_program(entry, new):
        return True
    return entry["verb"] == new["verb"] and name not in SUMMED


def add(log):
    verb, code = os.environ["LONG_VERB"], int(os.environ["LONG_CODE"])
    verdict = read_verdict(log)
    figures, missing = read_figures(verb, verdict)
    new = {
        "verb": verb,
        "commit": os.environ["LONG_COMMIT"],
        "program": os.environ["LONG_PROGRAM"],
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "ok": code == 0,
        "seconds": int(os.environ["LONG_SECONDS"]),
        "cores": os.cpu_count(),
        "broken": verdict.get("broken", []) + missing,
        "figures": figures,
    }
    record = [entry for entry in read_record() if not is_replaced(entry, new)] + [new]
    record.sort(key=lambda entry: entry["verb"])
    with open(RECORD, "w") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in record)


def format_value(value):
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str) else f"{value:,}"


def format_summary(record):
    if not record:
        return "No run is recorded yet.\n"
    rows = ["| verb | result | commit | date | duration | cores |", "|---|---|---|---|---|---|"]
    for entry in record:
        result = "; ".join(["ok" if entry["ok"] else "failed"] + entry["broken"])
        where = f"`{entry['commit']}` | {entry['date']} | {entry['seconds']:,} s | {entry['cores']}"
        rows.append(f"| `./dev {entry['verb']}` | {result} | {where} |")
    return "\n".join(rows) + "\n"


def format_table(title, figures):
    rows = [title, "", "| | |", "|---|---|"]
    for label, values in figures.items():
        rows.append(f"| {label} | {', '.join(map(format_value, values))} |")
    return "\n".join(rows) + "\n"


def sum_figures(entries):
    sums = {}
    for entry in entries:
        for label, values in entry["figures"].items():
            sums[label] = [sum(pair) for pair in zip(sums.get(label, [0] * len(values)), values)]
    return sums


def format_figures(name, record):
    """A table for each run of a verb, or one with the sums of all its runs."""
    entries = [entry for entry in record if base_name(entry["verb"]) == name]
    if name in SUMMED and entries:
        program = program_of(entries[0])
        long = [entry for entry in entries if entry["seconds"] >= MIN_SUMMED_SECONDS]
        title = f"`./dev {name}` of the program of `{program}`, sums of {len(long)} runs of at least 30 minutes:"
        return format_table(title, sum_figures(long))
    titles = (f"`./dev {entry['verb']}` at `{entry['commit']}`, {entry['date']}:" for entry in entries)
    return "\n".join(format_table(title, entry["figures"]) for title, entry in zip(titles, entries))


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
    for entry in record:
        verb, result = entry["verb"], "ok" if entry["ok"] else "FAILED"
        print(f"{verb:30}  {result:6}  {entry['seconds']:6} s  {entry['commit']}  {'; '.join(entry['broken'])}".rstrip())
    return all(entry["ok"] for entry in record)


def check():
    with open(PAGE) as file:
        faults = find_faults(file.read(), read_record())
    for fault in faults:
        print(fault, file=sys.stderr)
    return not faults


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    sys.exit({"add": add, "table": table, "check": check}[verb](*arguments) is False)
