"""Service levels: recording rules of their error ratios, and alerts on how fast the budget is used up."""

import dataclasses

from rule_text import Alert, Case, duration_seconds

WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
# Multiple of the allowed error ratio, long window, short window, severity. At 14.4 times the allowed ratio, the
# budget of 30 days is gone in two days; at 1, in 30 days.
BURN_RATES = (
    (14.4, "1h", "5m", "page"),
    (6, "6h", "30m", "page"),
    (3, "1d", "2h", "ticket"),
    (1, "3d", "6h", "ticket"),
)
# With fewer bad events in the long window, a quiet installation would page for a single error.
MIN_BAD_EVENTS = 5


@dataclasses.dataclass(frozen=True)
class ServiceLevel:
    name: str
    objective: float
    # Events per second, with WINDOW as their range.
    bad: str
    total: str
    alert: str
    summary: str
    runbook: str
    pages: bool
    # Series of 100 events a minute: per minute this many bad ones, and all.
    series: object


def load_requests(bad):
    start = 'longshore_http_requests_total{route="/cargo/load",method="POST",status='
    return {start + '"202"}': 100 - bad, start + '"503"}': bad}


def load_durations(bad):
    return {
        'longshore_http_request_duration_seconds_bucket{route="/cargo/load",le="0.25"}': 100 - bad,
        'longshore_http_request_duration_seconds_count{route="/cargo/load"}': 100,
    }


def callback_times(bad):
    return {
        'longshore_cargo_callback_seconds_bucket{le="86400"}': 100 - bad,
        "longshore_cargo_callback_seconds_count": 100,
    }


def ended_callbacks(bad):
    return {
        'longshore_callbacks_ended_total{outcome="delivered"}': 100 - bad,
        'longshore_callbacks_ended_total{outcome="failed"}': bad,
    }


LOADS = 'longshore_http_requests_total{route="/cargo/load"}[WINDOW]'
LOAD_TIMES = "longshore_http_request_duration_seconds"

SERVICE_LEVELS = (
    ServiceLevel(
        name="load_availability",
        objective=99.9,
        bad='sum(rate(longshore_http_requests_total{route="/cargo/load",status=~"5.."}[WINDOW])) or vector(0)',
        total=f"sum(rate({LOADS}))",
        alert="LongshoreLoadsFail",
        summary="Too many loads are answered with a server error",
        runbook="loads-fail",
        pages=True,
        series=load_requests,
    ),
    ServiceLevel(
        name="load_latency",
        objective=99,
        bad=f'sum(rate({LOAD_TIMES}_count{{route="/cargo/load"}}[WINDOW])) - '
        f'sum(rate({LOAD_TIMES}_bucket{{route="/cargo/load",le="0.25"}}[WINDOW]))',
        total=f'sum(rate({LOAD_TIMES}_count{{route="/cargo/load"}}[WINDOW]))',
        alert="LongshoreLoadsSlow",
        summary="Too many loads take longer than 250 ms",
        runbook="loads-slow",
        pages=True,
        series=load_durations,
    ),
    ServiceLevel(
        name="time_to_callback",
        objective=99,
        bad="sum(rate(longshore_cargo_callback_seconds_count[WINDOW])) - "
        'sum(rate(longshore_cargo_callback_seconds_bucket{le="86400"}[WINDOW]))',
        total="sum(rate(longshore_cargo_callback_seconds_count[WINDOW]))",
        alert="LongshoreCallbacksLate",
        summary="Too many callbacks are acknowledged later than 24 hours after their load",
        runbook="callbacks-late",
        pages=True,
        series=callback_times,
    ),
    ServiceLevel(
        name="delivery",
        objective=99,
        bad='sum(rate(longshore_callbacks_ended_total{outcome="failed"}[WINDOW]))',
        total="sum(rate(longshore_callbacks_ended_total[WINDOW]))",
        alert="LongshoreCallbacksFail",
        summary="Too many callbacks fail after all their retries",
        runbook="slow-receivers",
        # Receivers fail, too, and no one on call can repair them.
        pages=False,
        series=ended_callbacks,
    ),
)


def recordings(scale):
    rules = []
    for level in SERVICE_LEVELS:
        labels = {"slo": level.name}
        for window in WINDOWS:
            length = scale.duration(duration_seconds(window))
            bad, total = (text.replace("WINDOW", length) for text in (level.bad, level.total))
            rules.append(
                {
                    "record": f"longshore:slo_error_ratio:{window}",
                    "expr": f"({bad})\n/\n({total} > 0)",
                    "labels": labels,
                }
            )
        for window in sorted({long for _, long, _, _ in BURN_RATES}, key=duration_seconds):
            length, seconds = scale.duration(duration_seconds(window)), scale.seconds(duration_seconds(window))
            rules.append(
                {
                    "record": f"longshore:slo_bad_events:{window}",
                    "expr": f"({level.bad.replace('WINDOW', length)}) * {seconds}",
                    "labels": labels,
                }
            )
    return rules


def alerts():
    return [burn_alert(level, *rate) for level in SERVICE_LEVELS for rate in BURN_RATES]


def severity_of(level, severity):
    return severity if level.pages else "ticket"


def labels_of(level, severity, window):
    return {"severity": severity_of(level, severity), "slo": level.name, "window": window}


def burn_alert(level, rate, long, short, severity):
    limit = f"{rate * (100 - level.objective) / 100:.6g}"
    slo = f'{{slo="{level.name}"}}'
    expr = (
        f"longshore:slo_error_ratio:{long}{slo} > {limit}\n"
        f"and longshore:slo_error_ratio:{short}{slo} > {limit}\n"
        f"and longshore:slo_bad_events:{long}{slo} >= {MIN_BAD_EVENTS}"
    )
    # The cases of a level are those of its first alert: one test asks for all alerts of a name.
    cases = cases_of(level) if (rate, long, short, severity) == BURN_RATES[0] else ()
    labels = {"slo": level.name, "window": long}
    return Alert(
        level.alert, severity_of(level, severity), expr, "", level.summary, level.runbook, cases, labels
    )


def cases_of(level):
    allowed = 100 - level.objective

    def series(bad, minutes):
        return {name: f"0+{value:g}x{minutes}" for name, value in level.series(bad).items()}

    every = tuple(labels_of(level, severity, long) for _, long, _, severity in BURN_RATES)
    slowest = BURN_RATES[-1]
    few = {name: f"0+{value / 100:g}x40" for name, value in level.series(4).items()}
    return (
        Case(series(20, 30), 30, every),
        Case(series(allowed * 2, 40), 40, (labels_of(level, slowest[3], slowest[1]),)),
        Case(series(allowed / 10, 40), 40),
        Case(few, 40),
    )
