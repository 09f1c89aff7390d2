"""Tests for promtool(1): every alert fires when it should, and is silent when it should be."""

import re


def build(rule_files, alerts, runbooks):
    tests = [build_case(alert, case, runbooks) for alert in alerts for case in alert.cases]
    return {"rule_files": rule_files, "evaluation_interval": "1m", "tests": tests}


def build_case(alert, case, runbooks):
    expected = []
    for labels in case.expected:
        annotations = {key: fill(text, labels) for key, text in alert.annotations(runbooks).items()}
        expected.append({"exp_labels": labels, "exp_annotations": annotations})
    look = {"eval_time": f"{case.minute}m", "alertname": alert.name}
    if expected:
        look["exp_alerts"] = expected
    state = "fires" if expected else "is silent"
    return {
        "name": f"{alert.name} {state}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [look],
    }


def fill(text, labels):
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)
