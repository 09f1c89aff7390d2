"""Cases for the tests of alerts."""

from rule_text import Case

NORTH = 'shard="north"'


def gauge(name, labels, value, minutes=60):
    """A gauge that keeps its value."""
    return {f"{name}{{{labels}}}" if labels else name: f"{value}+0x{minutes}"}


def state_cases(name, labels, firing, quiet, expected, minute=30):
    """An alert on a gauge: one value fires, the other does not."""
    return (
        Case(gauge(name, labels, firing), minute, (expected,)),
        Case(gauge(name, labels, quiet), minute),
    )


def counter_cases(name, labels, expected, start=0):
    """An alert on a counter: an increase fires, a constant does not."""
    series = f"{name}{{{labels}}}" if labels else name
    return (
        Case({series: f"{start}+1x60"}, 60, (expected,)),
        Case({series: "7+0x60"}, 60),
    )


def page(**labels):
    return {"severity": "page", **labels}


def ticket(**labels):
    return {"severity": "ticket", **labels}
