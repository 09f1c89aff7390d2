"""Durations, alerts and YAML: what the tables of rules are made of."""

import dataclasses
import json
import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Scale:
    """Multiplies the windows of all rules, so that a trial sees in minutes what takes days."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def seconds(self, seconds):
        return max(1, round(seconds * self.factor))

    def duration(self, seconds):
        scaled = self.seconds(seconds)
        for unit in ("d", "h", "m"):
            if scaled % UNITS[unit] == 0:
                return f"{scaled // UNITS[unit]}{unit}"
        return f"{scaled}s"

    def expand(self, text):
        """Replaces <10m> with a scaled duration, and <600> with a scaled number of seconds.

        <900|90> is never less than 90: the work that it watches has an interval that no trial shortens.
        """

        def replace(found):
            number, least, unit = int(found[1]), int(found[2] or 0), found[3]
            if unit:
                return self.duration(number * UNITS[unit])
            return str(max(least, self.seconds(number)))

        return re.sub(r"<(\d+)(?:\|(\d+))?([smhd]?)>", replace, text)


@dataclasses.dataclass(frozen=True)
class Case:
    """Series for promtool(1), the minute at which it looks, and the labels of the alerts that it expects."""

    series: dict
    minute: int
    expected: tuple = ()


@dataclasses.dataclass(frozen=True)
class Alert:
    name: str
    severity: str
    expr: str
    hold: str
    summary: str
    runbook: str
    cases: tuple
    labels: dict = dataclasses.field(default_factory=dict)

    def rule(self, scale, runbooks):
        rule = {"alert": self.name, "expr": scale.expand(self.expr)}
        if self.hold:
            rule["for"] = scale.expand(f"<{self.hold}>")
        rule["labels"] = {"severity": self.severity, **self.labels}
        rule["annotations"] = self.annotations(runbooks)
        return rule

    def annotations(self, runbooks):
        return {"summary": self.summary, "runbook_url": f"{runbooks}/{self.runbook}.md"}


def duration_seconds(text):
    return int(text[:-1]) * UNITS[text[-1]]


def to_yaml(value, depth=0):
    """Mappings, lists, texts and numbers. Expressions are blocks, because they contain quotes and braces."""
    indent = "  " * depth
    lines = []
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                lines.append(f"{indent}{key}:")
                lines.append(to_yaml(item, depth + 1))
            elif key == "expr":
                lines.append(f"{indent}{key}: |-")
                lines.extend(f"{indent}  {line}" for line in item.splitlines())
            else:
                lines.append(f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}")
    else:
        for item in value:
            if isinstance(item, str):
                lines.append(f"{indent}- {json.dumps(item, ensure_ascii=False)}")
                continue
            block = to_yaml(item, depth + 1)
            lines.append(f"{indent}- {block[len(indent) + 2:]}")
    return "\n".join(lines)
