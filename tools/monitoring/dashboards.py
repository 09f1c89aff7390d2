"""Grafana dashboards as JSON."""

import json

RATE = "$__rate_interval"
LOAD = 'route="/cargo/load"'
WIDTH, HEIGHT = 12, 8


def rate(name, by="", labels=""):
    matchers = f"{{{labels}}}" if labels else ""
    grouped = f"sum by ({by}) " if by else "sum"
    return f"{grouped}(rate({name}{matchers}[{RATE}]))"


def quantile(share, name, by="", labels=""):
    keys = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, {rate(f'{name}_bucket', keys, labels)})"


def quantiles(name, labels=""):
    return [(quantile(share, name, "", labels), f"p{share * 100:g}") for share in (0.5, 0.95, 0.99)]


def largest(name, by):
    return f"max by ({by}) ({name})"


def counts(*names):
    """Counters without labels that matter: how much each rose within the hour."""
    start, end = "longshore_", "_total"
    return [(f"sum(increase({name}[1h]))", name[len(start) : -len(end)]) for name in names]


OVERVIEW = (
    ("Loads by status", "reqps", [(rate("longshore_http_requests_total", "status", LOAD), "{{status}}")]),
    ("Time to answer a load", "s", quantiles("longshore_http_request_duration_seconds", LOAD)),
    ("Error ratio of service levels, 1 hour", "percentunit", [("longshore:slo_error_ratio:1h", "{{slo}}")]),
    ("Error ratio of service levels, 3 days", "percentunit", [("longshore:slo_error_ratio:3d", "{{slo}}")]),
    ("Accepted cargo", "ops", [(rate("longshore_cargo_loaded_total", "shard"), "{{shard}}")]),
    ("Callbacks that ended", "ops", [(rate("longshore_callbacks_ended_total", "outcome"), "{{outcome}}")]),
    ("Time from load to callback", "s", quantiles("longshore_cargo_callback_seconds")),
    (
        "Age of the oldest waiting item",
        "s",
        [(largest("longshore_stage_oldest_waiting_age_seconds", "stage"), "{{stage}}")],
    ),
    ("Databases reachable", "short", [(largest("longshore_database_reachable", "database"), "{{database}}")]),
    (
        "Store and scanner healthy",
        "short",
        [("min by (dependency) (longshore_files_dependency_healthy)", "{{dependency}}")],
    ),
)

STAGES = (
    ("Items processed", "ops", [(rate("longshore_stage_items_total", "stage, shard"), "{{stage}} {{shard}}")]),
    (
        "Age of the oldest waiting item",
        "s",
        [(largest("longshore_stage_oldest_waiting_age_seconds", "stage, shard"), "{{stage}} {{shard}}")],
    ),
    ("Failed steps", "ops", [(rate("longshore_stage_failures_total", "stage, shard"), "{{stage}} {{shard}}")]),
    ("Failed parts of sweep", "ops", [(rate("longshore_sweep_failures_total", "part, shard"), "{{part}} {{shard}}")]),
    ("Cargo per batch", "short", quantiles("longshore_batch_cargo")),
    ("Claims of dead nodes", "ops", [(rate("longshore_orphaned_claims_freed_total", "shard"), "{{shard}}")]),
    ("Files in verification", "short", [(largest("longshore_files_validating", "shard"), "{{shard}}")]),
    ("Time to verify a file", "s", quantiles("longshore_scan_duration_seconds")),
    ("Files ready", "ops", [(rate("longshore_files_ready_total"), "ready")]),
    ("Files failed", "ops", [(rate("longshore_files_failed_total", "reason"), "{{reason}}")]),
)

PROVIDERS = (
    (
        "Circuit breaker open",
        "short",
        [(largest("longshore_provider_circuit_breaker_open", "provider, shard"), "{{provider}} {{shard}}")],
    ),
    (
        "Account paused",
        "short",
        [(largest("longshore_provider_account_paused", "provider, shard"), "{{provider}} {{shard}}")],
    ),
    (
        "Submissions that need attention, per hour",
        "short",
        counts(
            "longshore_submissions_indeterminate_total",
            "longshore_submissions_resent_total",
            "longshore_submissions_ambiguous_total",
            "longshore_submissions_orphaned_total",
            "longshore_submissions_duplicated_total",
            "longshore_submissions_possibly_duplicated_total",
        ),
    ),
    (
        "Results and jobs that need attention, per hour",
        "short",
        counts(
            "longshore_batch_results_unmatched_total",
            "longshore_batch_results_repeated_total",
            "longshore_provider_jobs_lost_total",
        ),
    ),
    (
        "Flex, per hour",
        "short",
        counts("longshore_flex_refused_total", "longshore_flex_unknown_total", "longshore_flex_downgraded_total"),
    ),
    (
        "Jobs deleted at providers",
        "ops",
        [(rate("longshore_provider_deletions_total", "provider, outcome"), "{{provider}} {{outcome}}")],
    ),
)

DELIVERIES = (
    ("Attempts", "ops", [(rate("longshore_callback_attempts_total", "outcome"), "{{outcome}}")]),
    ("Callbacks that ended", "ops", [(rate("longshore_callbacks_ended_total", "outcome"), "{{outcome}}")]),
    ("Duration of an attempt", "s", quantiles("longshore_callback_duration_seconds")),
    (
        "Wait for a slot, p95 by class of host",
        "s",
        [(quantile(0.95, "longshore_callback_queue_duration_seconds", "class"), "{{class}}")],
    ),
    (
        "Callbacks in flight, by class of host",
        "short",
        [("sum by (class) (longshore_callback_slots_in_use)", "{{class}}")],
    ),
    ("Attempts not made or not recorded", "ops", [(rate("longshore_callback_attempt_errors_total", "reason"), "{{reason}}")]),
    ("Time from load to callback", "s", quantiles("longshore_cargo_callback_seconds")),
    ("Attempts lost with a lease", "ops", [(rate("longshore_callback_claims_lost_total"), "lost")]),
)

DATABASE = (
    ("Reachable", "short", [(largest("longshore_database_reachable", "database"), "{{database}}")]),
    (
        "Clock offset",
        "s",
        [("max by (database) (abs(longshore_database_clock_offset_seconds))", "{{database}}")],
    ),
    ("Loads per commit", "short", quantiles("longshore_group_commit_loads")),
    ("Commits with an unknown result", "ops", [(rate("longshore_group_commit_unknown_results_total"), "unknown")]),
    ("Days with partitions", "short", [("min by (shard) (longshore_partition_days_ahead)", "{{shard}}")]),
    ("Loads refused: too many waiting", "ops", [(rate("longshore_loads_refused_overload_total"), "refused")]),
    ("Calls to Redis", "s", quantiles("longshore_rate_limit_redis_call_duration_seconds")),
    ("Redis away", "short", [("max(longshore_rate_limit_circuit_breaker_open)", "circuit breaker open")]),
    (
        "Values that wait for a data key",
        "ops",
        [(rate("longshore_data_key_unavailable_total", "operation"), "{{operation}}")],
    ),
    ("Removal of objects held", "short", [(largest("longshore_object_removal_held", "shard"), "{{shard}}")]),
    ("Paused after a restore", "short", [(largest("longshore_recovery_pause", "shard"), "{{shard}}")]),
    (
        "Failovers, per hour",
        "short",
        [("sum by (shard) (increase(longshore_database_failovers_total[1h]))", "{{shard}}")],
    ),
)

MONEY = (
    ("Faults of the ledger", "short", [(largest("longshore_ledger_faults", "shard"), "{{shard}}")]),
    (
        "Time since the last audit of the ledger",
        "s",
        [(f"time() - {largest('longshore_ledger_last_check_timestamp_seconds', 'shard')}", "{{shard}}")],
    ),
    (
        "Time since which every row of the ledger was read",
        "s",
        [(f"time() - {largest('longshore_ledger_oldest_proof_timestamp_seconds', 'shard')}", "{{shard}}")],
    ),
    (
        "Outcomes with uncertain usage, per hour",
        "short",
        counts("longshore_outcomes_usage_estimated_total", "longshore_outcomes_usage_doubtful_total"),
    ),
    (
        "Outcomes that could not be processed",
        "ops",
        [(rate("longshore_outcomes_unprocessable_total", "reason"), "{{reason}}")],
    ),
    (
        "What a provider may bill without an outcome, per hour",
        "short",
        counts(
            "longshore_submissions_duplicated_total",
            "longshore_submissions_possibly_duplicated_total",
            "longshore_flex_unknown_total",
            "longshore_flex_downgraded_total",
        ),
    ),
    ("Accepted cargo", "ops", [(rate("longshore_cargo_loaded_total", "shard"), "{{shard}}")]),
    ("Licence expires in", "s", [("min(longshore_licence_expiry_timestamp_seconds) - time()", "licence")]),
)

DASHBOARDS = {
    "overview": ("Longshore: overview", OVERVIEW),
    "stages": ("Longshore: stages and files", STAGES),
    "providers": ("Longshore: providers", PROVIDERS),
    "deliveries": ("Longshore: deliveries", DELIVERIES),
    "database": ("Longshore: databases and Redis", DATABASE),
    "money": ("Longshore: money", MONEY),
}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def expressions():
    """All queries, with the dashboard and the panel."""
    for name, (_, panels) in DASHBOARDS.items():
        for title, _, queries in panels:
            for expr, _ in queries:
                yield f"{name}: {title}", expr


def build(name):
    title, panels = DASHBOARDS[name]
    variable = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "uid": f"longshore-{name}",
        "title": title,
        "tags": ["longshore"],
        "timezone": "utc",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [variable]},
        "links": [
            {"title": "Longshore", "type": "dashboards", "tags": ["longshore"], "asDropdown": True, "keepTime": True}
        ],
        "panels": [build_panel(index, *panel) for index, panel in enumerate(panels)],
    }


def build_panel(index, title, unit, queries):
    row, column = divmod(index, 2)
    targets = [
        {"refId": chr(ord("A") + number), "expr": expr, "legendFormat": legend, "datasource": DATASOURCE}
        for number, (expr, legend) in enumerate(queries)
    ]
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": title,
        "datasource": DATASOURCE,
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": {"fillOpacity": 10}}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": targets,
    }


def to_json(dashboard):
    return json.dumps(dashboard, indent=2) + "\n"
