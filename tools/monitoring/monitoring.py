"""Writes and checks the folder `monitoring`: rules, their tests and dashboards.

    monitoring.py write [--to FOLDER] [--factor F] [--runbooks URL]
    monitoring.py check

`--factor` multiplies all windows; a trial uses 1/60. `--runbooks` is where your installation serves docs/runbooks.
"""

import argparse
import fractions
import pathlib
import subprocess
import sys
import tempfile

import cause_alerts
import dashboards
import metric_names
import service_levels
import unit_tests
from rule_text import Scale, to_yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "monitoring"
RUNBOOKS = "docs/runbooks"
HEADER = "# Written by `./dev rules` from tools/monitoring. Do not edit.\n"


def build_files(scale, runbooks):
    """Path and text of every file. Tests are for rules of the usual scale."""
    files = {}

    def add_rules(name, groups, alerts):
        files[f"rules/{name}.yml"] = HEADER + to_yaml({"groups": groups}) + "\n"
        if scale.factor == 1:
            tests = unit_tests.build([f"../rules/{name}.yml"], alerts, runbooks)
            files[f"tests/{name}.yml"] = HEADER + to_yaml(tests) + "\n"

    def group(name, rules):
        return {"name": name, "interval": scale.duration(30), "rules": rules}

    burns = service_levels.alerts()
    burn_rules = [alert.rule(scale, runbooks) for alert in burns]
    groups = [
        group("longshore-service-levels", service_levels.recordings(scale)),
        group("longshore-burn-rates", burn_rules),
    ]
    add_rules("service-levels", groups, burns)
    for name, alerts in cause_alerts.CAUSES.items():
        rules = [alert.rule(scale, runbooks) for alert in alerts]
        add_rules(name, [group(f"longshore-{name}", rules)], alerts)
    for name in dashboards.DASHBOARDS:
        files[f"grafana/{name}.json"] = dashboards.to_json(dashboards.build(name))
    return files


def write(folder, scale, runbooks):
    files = build_files(scale, runbooks)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    # Another folder may hold files of its own.
    for path in list_generated(folder) - set(files) if folder == FOLDER else ():
        (folder / path).unlink()
    print(f"{folder}: {len(files)} files")


def list_generated(folder):
    """All files of the three folders that hold nothing else."""
    places = (folder / place for place in ("rules", "tests", "grafana"))
    return {str(path.relative_to(folder)) for place in places if place.exists() for path in place.iterdir()}


def find_stale():
    files = build_files(Scale(), RUNBOOKS)
    stale = [path for path, text in files.items() if read(FOLDER / path) != text]
    stale += sorted(list_generated(FOLDER) - set(files))
    return [f"monitoring/{path} is stale: ./dev rules" for path in stale]


def read(path):
    return path.read_text() if path.exists() else None


def find_unknown_names():
    names = metric_names.read_catalogue(read(ROOT / "docs/metrics.md"))
    recorded = service_levels.recordings(Scale())
    names |= {rule["record"]: {"slo"} for rule in recorded}
    used = [(rule["record"], rule["expr"]) for rule in recorded]
    alerts = [*service_levels.alerts(), *(alert for group in cause_alerts.CAUSES.values() for alert in group)]
    used += [(alert.name, Scale().expand(alert.expr)) for alert in alerts]
    used += dashboards.expressions()
    return [f"{where}: {fault}" for where, expr in used for fault in metric_names.find_faults(expr, names)]


def find_untested():
    tested = {alert.name for alert in service_levels.alerts() if alert.cases}
    faults = [f"{alert.name} has no test" for alert in service_levels.alerts() if alert.name not in tested]
    for alert in (alert for group in cause_alerts.CAUSES.values() for alert in group):
        states = {bool(case.expected) for case in alert.cases}
        if states != {True, False}:
            faults.append(f"{alert.name} needs a test in which it fires, and one in which it is silent")
    return faults


def run_promtool():
    """Checks the rules, those of a trial, the queries of dashboards, and runs the tests of all alerts."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        queries = [
            {"record": f"dashboard:query:{number}", "expr": expr.replace(dashboards.RATE, "5m")}
            for number, (_, expr) in enumerate(dashboards.expressions())
        ]
        groups = {"groups": [{"name": "queries", "rules": queries}]}
        (scratch / "queries.yml").write_text(to_yaml(groups) + "\n")
        for path, text in build_files(Scale(1 / 60), RUNBOOKS).items():
            if path.startswith("rules/"):
                (scratch / pathlib.Path(path).name).write_text(text)
        rules = [*sorted(FOLDER.glob("rules/*.yml")), *sorted(scratch.glob("*.yml"))]
        tests = sorted(FOLDER.glob("tests/*.yml"))
        checked = [["check", "rules", *rules], ["test", "rules", *tests]]
        return [fault for arguments in checked if (fault := promtool(arguments))]


def promtool(arguments):
    command = ["promtool", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        return f"promtool {' '.join(command[1:3])} failed:\n{ended.stdout}{ended.stderr}"
    return None


def check():
    faults = find_stale() + find_unknown_names() + find_untested()
    faults += [] if faults else run_promtool()
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["write", "check"])
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--factor", type=fractions.Fraction, default=fractions.Fraction(1))
    parser.add_argument("--runbooks", default=RUNBOOKS)
    options = parser.parse_args()
    if options.verb == "check":
        return check()
    is_usual = options.factor == 1 and options.runbooks == RUNBOOKS
    if options.to == FOLDER and not is_usual:
        parser.error("--factor and --runbooks need --to FOLDER: the checkout keeps the usual rules")
    write(options.to, Scale(float(options.factor)), options.runbooks.rstrip("/"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
