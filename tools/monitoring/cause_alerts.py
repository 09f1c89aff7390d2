"""Alerts on causes: each of them needs an operator, also while no service level suffers yet."""

from alert_cases import NORTH, counter_cases, gauge, page, state_cases, ticket
from dependency_alerts import FILES, HOSTS, MONEY_AND_SECRETS
from rule_text import Alert, Case

AGE = "longshore_stage_oldest_waiting_age_seconds"
ITEMS = "longshore_stage_items_total"
# Gather and dispatch wait while an account has as many enqueued tokens as it may have, and a realtime batch may
# take long.
STUCK = (
    f'max by (stage, shard) ({AGE}{{stage="deliver"}}) > <600>\n'
    f"and sum by (stage, shard) (rate({ITEMS}[<10m>])) == 0\n"
    f'or max by (stage, shard) ({AGE}{{stage="collect"}}) > <600>\n'
    f'and on (shard) sum by (shard) (rate({ITEMS}{{stage=~"collect|stream"}}[<30m>])) == 0\n'
    f'or max by (stage, shard) ({AGE}{{stage=~"gather|dispatch"}}) > <14400>\n'
    f"and sum by (stage, shard) (rate({ITEMS}[<30m>])) == 0"
)


def stuck_case(stage, age_per_minute, items_per_minute, *expected, processed_by=None):
    series = {
        f'{AGE}{{stage="{stage}",{NORTH}}}': f"0+{age_per_minute}x60",
        f'{ITEMS}{{stage="{stage}",{NORTH}}}': f"9+{0 if processed_by else items_per_minute}x60",
    }
    if processed_by:
        series[f'{ITEMS}{{stage="{processed_by}",{NORTH}}}'] = f"9+{items_per_minute}x60"
    return Case(series, 40, expected)


WORKERS = (
    Alert(
        "LongshoreNoWorkers",
        "page",
        f"absent({AGE})",
        "5m",
        "No worker is running: accepted cargo waits, and no callback is sent",
        "no-workers",
        (
            Case({"longshore_rate_limit_nodes": "1+0x30"}, 20, (page(),)),
            Case(gauge(AGE, f'stage="gather",{NORTH}', 0), 20),
        ),
    ),
    Alert(
        "LongshoreShardWithoutWorkers",
        "page",
        f"count by (shard) (max_over_time({AGE}[<1h>])) unless count by (shard) ({AGE})",
        "5m",
        "No worker is running for the shard {{ $labels.shard }}",
        "no-workers",
        (
            Case(
                {f'{AGE}{{stage="gather",{NORTH}}}': "0+0x10", f'{AGE}{{stage="gather",shard="south"}}': "0+0x40"},
                30,
                (page(shard="north"),),
            ),
            Case(gauge(AGE, f'stage="gather",{NORTH}', 0), 30),
        ),
    ),
    Alert(
        "LongshoreLaneStuck",
        "page",
        STUCK,
        "5m",
        "The stage {{ $labels.stage }} of the shard {{ $labels.shard }} has work and processes none",
        "stuck-lane",
        (
            stuck_case("dispatch", 600, 0, page(stage="dispatch", shard="north")),
            stuck_case("deliver", 60, 0, page(stage="deliver", shard="north")),
            stuck_case("collect", 60, 0, page(stage="collect", shard="north")),
            stuck_case("dispatch", 60, 0),
            stuck_case("deliver", 60, 3),
            # Streams report their age as collect.
            stuck_case("collect", 60, 3, processed_by="stream"),
        ),
    ),
    Alert(
        "LongshoreWorkWaits",
        "ticket",
        f"max by (stage, shard) ({AGE}) > <3600>",
        "15m",
        "The oldest item before the stage {{ $labels.stage }} of the shard {{ $labels.shard }} waits for over an hour",
        "work-waits",
        state_cases(AGE, f'stage="gather",{NORTH}', 4000, 3000, ticket(stage="gather", shard="north")),
    ),
    Alert(
        "LongshoreStageFails",
        "ticket",
        "sum by (stage, shard) (rate(longshore_stage_failures_total[<5m>])) > 0",
        "15m",
        "Steps of the stage {{ $labels.stage }} of the shard {{ $labels.shard }} fail again and again",
        "stage-fails",
        counter_cases(
            "longshore_stage_failures_total", f'stage="collect",{NORTH}', ticket(stage="collect", shard="north")
        ),
    ),
    Alert(
        "LongshoreSweepFails",
        "ticket",
        "sum by (part, shard) (increase(longshore_sweep_failures_total[<30m>])) > 0",
        "30m",
        "The part {{ $labels.part }} of sweep fails on the shard {{ $labels.shard }}",
        "sweep-fails",
        counter_cases(
            "longshore_sweep_failures_total", f'part="retention",{NORTH}', ticket(part="retention", shard="north")
        ),
    ),
    Alert(
        "LongshoreProcessDown",
        "ticket",
        'up{job="longshore"} == 0',
        "5m",
        "Prometheus cannot read the metrics of {{ $labels.instance }}",
        "process-down",
        state_cases(
            "up", 'job="longshore",instance="a:9090"', 0, 1, ticket(job="longshore", instance="a:9090")
        ),
    ),
    Alert(
        "LongshoreServerErrors",
        "ticket",
        # A route's first 500 makes a new series, whose increase is 0.
        'sum by (route) (increase(longshore_http_requests_total{status="500"}[<15m>])) > 0'
        ' or sum by (route) (longshore_http_requests_total{status="500"}'
        ' unless longshore_http_requests_total{status="500"} offset <15m>) > 0',
        "",
        "Requests to {{ $labels.route }} are answered with 500",
        "server-errors",
        counter_cases(
            "longshore_http_requests_total",
            'route="/files",method="POST",status="500"',
            ticket(route="/files"),
        ),
    ),
)

DAYS = "longshore_partition_days_ahead"
REACHABLE = "longshore_database_reachable"
FAILOVERS = "longshore_database_failovers_total"

DATABASES = (
    Alert(
        "LongshoreShardAway",
        "page",
        f'max by (database) ({REACHABLE}{{database!="control"}}) == 0',
        "2m",
        "No process reaches the database of {{ $labels.database }}: its organizations get 503",
        "shard-away",
        state_cases(REACHABLE, 'database="shard north"', 0, 1, page(database="shard north")),
    ),
    Alert(
        "LongshoreControlAway",
        "page",
        f'max by (database) ({REACHABLE}{{database="control"}}) == 0',
        "2m",
        "No process reaches the control database: known keys work for SVC_CONTROL_STALE_SECONDS",
        "control-away",
        state_cases(REACHABLE, 'database="control"', 0, 1, page(database="control")),
    ),
    Alert(
        "LongshoreFailover",
        "ticket",
        f"sum by (shard) (increase({FAILOVERS}[<1h>])) > 0",
        "",
        "A standby of the shard {{ $labels.shard }} was promoted: the last commits may be lost",
        "database-failover",
        (
            Case({f"{FAILOVERS}{{{NORTH}}}": "0+0x30 1+0x30"}, 50, (ticket(shard="north"),)),
            Case({f"{FAILOVERS}{{{NORTH}}}": "1+0x60"}, 50),
        ),
    ),
    Alert(
        "LongshorePartitionsLow",
        "ticket",
        f"min by (shard) ({DAYS}) < 5",
        "10m",
        "Fewer than 5 days have partitions on the shard {{ $labels.shard }}",
        "partitions-low",
        state_cases(DAYS, NORTH, 4, 5, ticket(shard="north")),
    ),
    Alert(
        "LongshorePartitionsMissing",
        "page",
        f"min by (shard) ({DAYS}) < 2",
        "10m",
        "The shard {{ $labels.shard }} has partitions for less than two days",
        "partitions-low",
        state_cases(DAYS, NORTH, 1, 2, page(shard="north")),
    ),
    Alert(
        "LongshoreClockOffset",
        "ticket",
        "max by (database) (abs(longshore_database_clock_offset_seconds)) > 1",
        "10m",
        "The clocks of {{ $labels.database }} and of a longshored differ by more than a second",
        "clock-offset",
        state_cases(
            "longshore_database_clock_offset_seconds", 'database="control"', -2, 0.5, ticket(database="control")
        ),
    ),
    Alert(
        "LongshoreRedisAway",
        "ticket",
        "max(longshore_rate_limit_circuit_breaker_open) > 0",
        "5m",
        "Redis is unreachable or too slow: each process enforces its share of the rate limits",
        "redis-away",
        state_cases("longshore_rate_limit_circuit_breaker_open", "", 1, 0, ticket()),
    ),
)

PAUSED = "longshore_provider_account_paused"
BREAKER = "longshore_provider_circuit_breaker_open"
OPENAI = f'provider="openai-main",{NORTH}'
DUPLICATED = "longshore_submissions_duplicated_total"
POSSIBLY_DUPLICATED = "longshore_submissions_possibly_duplicated_total"

PROVIDERS = (
    Alert(
        "LongshoreAccountPaused",
        "ticket",
        f"max by (provider, shard) ({PAUSED}) > 0",
        "10m",
        "The provider account {{ $labels.provider }} is paused on the shard {{ $labels.shard }}",
        "paused-account",
        state_cases(PAUSED, OPENAI, 1, 0, ticket(provider="openai-main", shard="north")),
    ),
    Alert(
        "LongshoreProviderOutage",
        "ticket",
        f"max by (provider, shard) ({BREAKER}) > 0",
        "15m",
        "The circuit breaker of the provider account {{ $labels.provider }} is open on the shard {{ $labels.shard }}",
        "provider-outage",
        state_cases(BREAKER, OPENAI, 1, 0, ticket(provider="openai-main", shard="north")),
    ),
    Alert(
        "LongshoreSubmittedTwice",
        "ticket",
        f"sum(increase({DUPLICATED}[<1h>])) + sum(increase({POSSIBLY_DUPLICATED}[<1h>])) > 0",
        "",
        "A batch may have been submitted twice: the provider may bill it twice",
        "submitted-twice",
        (
            Case({DUPLICATED: "0+0x60", POSSIBLY_DUPLICATED: "0+0x30 1+0x30"}, 50, (ticket(),)),
            Case({DUPLICATED: "2+0x60", POSSIBLY_DUPLICATED: "1+0x60"}, 50),
        ),
    ),
)

CAUSES = {
    "workers": WORKERS,
    "databases": DATABASES,
    "providers": PROVIDERS,
    "money-and-secrets": MONEY_AND_SECRETS,
    "files": FILES,
    "hosts": HOSTS,
}
