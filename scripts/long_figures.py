"""The figures of a verdict that docs/performance.md shows: for each verb a label, and the paths of its values."""


def _variant(place):
    prefix = f"variants.{place}"
    return f"{prefix}.loads_per_second {prefix}.ratio {prefix}.milliseconds.p50 {prefix}.milliseconds.p99"


def _idle(part):
    return f"{part}.without.milliseconds.p99 {part}.with.milliseconds.p99 {part}.p99_ratio"


_CHAOS = {
    "loaded, lost": "loaded lost",
    "callbacks sent twice": "duplicates",
    "longest from load to callback, s": "worst_gap_seconds",
}
_INTERRUPTIONS = {
    **_CHAOS,
    "load to callback of other cargo: p50, p99, max, s": "others_seconds.p50 others_seconds.p99 others_seconds.max",
    "the same of claimed cargo, s": "held_seconds.p50 held_seconds.p99 held_seconds.max",
    "takeover of claims, max, s": "takeover_seconds.max",
    "callbacks in flight at the time": "deliveries_in_flight",
}

FIGURES = {
    "bench load": {
        "bare inserts per second": "bare_inserts_per_second",
        "`svc-mock` without Redis: loads per second, ratio to bare inserts, p50 and p99 in ms": _variant(0),
        "the same with limits in Redis": _variant(1),
        "priced, with limits and holds": _variant(2),
        "the same, one organization alone": _variant(3),
        "share that limits leave, that holds leave": "limits_leave holds_leave",
    },
    "bench journey": {
        "cargo per second": "cargo_per_second",
        "CPU-seconds per 1,000 (service and PostgreSQL)": "cpu_seconds_per_thousand",
        "WAL bytes per cargo": "wal_bytes_per_cargo",
        "loads: p50 and p99 in ms": "load_milliseconds.p50 load_milliseconds.p99",
        "delivered, lost, delivered twice": "delivered lost duplicates",
    },
    "bench gather": {
        "gather 1,000 of the large backlog, to 1,000 of 10,000": "ratio",
        "the same after millions were gathered": "ratio_after",
        "tracking lookup, large to small": "ratio_tracking",
        "medians in ms: small, large, after": "small_milliseconds.p50 large_milliseconds.p50 after_milliseconds.p50",
        "waiting, gathered, organizations": "waiting gathered organizations",
        "share of CPU that other processes took": "other_processes",
    },
    "bench batches": {
        "cargo, organizations": "cargo organizations",
        "first load to last callback, s": "seconds",
        "cargo per second": "cargo_per_second",
        "the same jobs in the bare loop, s; ratio": "bare_jobs_seconds to_bare_jobs",
        "jobs; items of the largest": "jobs largest_job.items",
        "batches before the latecomer's": "batches_before_the_latecomer",
        "load to callback in s: latecomer, median of the first organization":
            "latecomer_seconds_to_callback busy_organization_median_seconds_to_callback",
        "lines sent again": "lines_sent_again",
        "most memory in MB: `serve`, `work`, `work`": "peak_megabytes.serve peak_megabytes.work.0 peak_megabytes.work.1",
    },
    "bench videos": {
        "one video in s: create, upload, verify":
            "one_video_seconds.create one_video_seconds.upload one_video_seconds.verify",
        "all at once: verified within, s": "many_in_all_seconds",
        "`work` grew by, MB: one, all at once": "one_memory_megabytes.work.growth many_memory_megabytes.work.growth",
        "loads p99 in ms: without files, one, all at once":
            "idle_load_milliseconds.p99 one_load_milliseconds.p99 many_load_milliseconds.p99",
    },
    "bench pages": {
        "cargo, rounds, pages": "cargo rounds pages",
        "the slowest page": "slowest",
        "its p95 in ms, and of `GET /health`": "slowest_p95_milliseconds health_p95_milliseconds",
    },
    "chaos kill": {**_CHAOS, "processes killed": "kills", "takeover of their work, p99, s": "takeover_seconds.p99"},
    "chaos connections": {**_CHAOS, "connections cut, of them in a transaction": "cut cut_in_transaction"},
    "chaos restart": {**_CHAOS, "restarts": "restarts"},
    "chaos freeze": _INTERRUPTIONS,
    "chaos partition": _INTERRUPTIONS,
    "chaos promote": {**_CHAOS, "promotions": "promotions"},
    "chaos idle": {
        "connections without a key": "connections",
        "loads p99 in ms without them, with them, ratio: directly": _idle("direct"),
        "the same through a trusted proxy": _idle("proxy"),
        "the same with a limit of half as many": _idle("limit"),
        "open files, memory of `serve` in MB": "direct.attacks.0.serve.open_files direct.attacks.0.serve.megabytes",
        "closed by deadlines": "direct.attacks.0.serve.connections.timed_out",
    },
    "chaos submit": {
        "kills, jobs, items": "kills jobs items",
        "jobs whose response was lost, submitted twice": "jobs_without_answer submitted_twice",
    },
    "soak": {"minutes, trials, failed": "minutes trials failed", "kills, lost": "kills lost"},
}
