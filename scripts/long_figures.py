"""The figures of a verdict that docs/performance.md shows: for each verb a label, and the paths of its values.

Paths are separated by spaces, or are a list where a name has spaces.
"""

# Runs with other arguments are removed when they measured another commit.
REPEATED = {"soak", "compare"}
# Every run at a commit is kept, and their figures are added.
SUMMED = {"soak"}


def _variant(place):
    prefix = f"variants.{place}"
    return f"{prefix}.loads_per_second {prefix}.ratio {prefix}.milliseconds.p50 {prefix}.milliseconds.p99"


def _idle(part):
    return f"{part}.without.milliseconds.p99 {part}.with.milliseconds.p99 {part}.p99_ratio"


def _victim(part):
    return f"{part}.without.seconds_to_callback.p99 {part}.with.seconds_to_callback.p99"


def _overload(part):
    return (f"{part}.sustained_per_second {part}.goodput_ratio {part}.refused_milliseconds.p99 "
            f"{part}.last_refusal_after_seconds")


def _redis(fault):
    return f"{fault}_first_milliseconds.with_redis.max {fault}_extra {fault}_exact_after_seconds"


def _rate(name):
    return [f"rates.{name}.after_to_before", f"rates.{name}.before_to_itself"]


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

_TRACING = {
    "CPU-seconds per 1,000 (service and PostgreSQL): without, with, median ratio of the rounds":
        "plain.cpu_seconds_per_thousand traced.cpu_seconds_per_thousand cpu_ratio",
    "cargo per second: without, with, median ratio of the rounds":
        "plain.cargo_per_second traced.cargo_per_second ratio",
    "WAL bytes per cargo: without, with": "plain.wal_bytes_per_cargo traced.wal_bytes_per_cargo",
    "spans per cargo, bytes per span, dropped": "spans_per_cargo bytes_per_span spans_dropped",
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
    "bench bulk": {
        "loads per second: bulk, single, median ratio of the rounds":
            "bulk_loads_per_second single_loads_per_second ratio",
        "a bulk load: p50 and p99 in ms": "bulk_milliseconds.p50 bulk_milliseconds.p99",
        "items of a bulk load; connections: bulk, single": "items bulk_connections single_connections",
    },
    "bench journey": {
        "cargo per second": "cargo_per_second",
        "CPU-seconds per 1,000 (service and PostgreSQL)": "cpu_seconds_per_thousand",
        "WAL bytes per cargo": "wal_bytes_per_cargo",
        "loads: p50 and p99 in ms": "load_milliseconds.p50 load_milliseconds.p99",
        "delivered, lost, delivered twice": "delivered lost duplicates",
    },
    "bench journey --encrypted": {
        "cargo per second: without, with, median ratio of the rounds":
            "plain.cargo_per_second encrypted.cargo_per_second ratio",
        "CPU-seconds per 1,000 (service and PostgreSQL): without, with":
            "plain.cpu_seconds_per_thousand encrypted.cpu_seconds_per_thousand",
        "WAL bytes per cargo: without, with": "plain.wal_bytes_per_cargo encrypted.wal_bytes_per_cargo",
    },
    "bench journey --tracing 0.01": _TRACING,
    "bench journey --tracing 1": _TRACING,
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
    "bench routes": {
        "cargo by way: batch, flex, realtime": "cargo_by_way.batch cargo_by_way.flex cargo_by_way.realtime",
        "minutes to callback, p50 and max, with a day":
            "minutes_to_callback.day.p50 minutes_to_callback.day.max",
        "the same with two hours": "minutes_to_callback.two_hours.p50 minutes_to_callback.two_hours.max",
        "the same with ten minutes": "minutes_to_callback.ten_minutes.p50 minutes_to_callback.ten_minutes.max",
        "cost above the cheapest, %": "extra_cost_percent",
    },
    "bench waits": {
        "long-polls that wait": "waits",
        "share of a core: `serve`, PostgreSQL": "serve_share_of_a_core postgres_share_of_a_core",
        "memory of `serve` in MB": "serve_megabytes",
        "completion to answer in ms, p50, p99 and max, when all complete at once":
            "milliseconds_from_completion_to_answer.p50 milliseconds_from_completion_to_answer.p99 "
            "milliseconds_from_completion_to_answer.max",
    },
    "bench audit": {
        "open cargo: few, many": "few.open_cargo many.open_cargo",
        "a minute's proof, ms: few, many, ratio": "few.proof_milliseconds many.proof_milliseconds time_ratio",
        "rows that it reads: few, many, ratio": "few.rows_read many.rows_read rows_ratio",
        "a pass over all rows, s: few, many": "few.pass_seconds many.pass_seconds",
    },
    "bench pages": {
        "cargo, rounds, pages": "cargo rounds pages",
        "the slowest page": "slowest",
        "its p95 in ms, and of `GET /health`": "slowest_p95_milliseconds health_p95_milliseconds",
    },
    "bench history": {
        "days, cargo a day": "days cargo_a_day",
        "bytes of all tables after the first month and the last": "first_month_bytes last_month_bytes",
        "most entries that a page or stage reads, % of its first month": "most_reads_percent",
    },
    "chaos kill": {**_CHAOS, "processes killed": "kills", "takeover of their work, p99, s": "takeover_seconds.p99"},
    "chaos connections": {
        **_CHAOS,
        "connections cut, of them in a transaction": "cut cut_in_transaction",
        "times that the connections of a process hung, of them in a transaction": "silences hung_in_transaction",
        "slowest answer to a load, with its retries, ms": "load_milliseconds_with_repeats.max",
    },
    "chaos restart": {**_CHAOS, "restarts": "restarts"},
    "chaos shard": {
        **_CHAOS,
        "requests served, refused because a server was down, failed": "served refused_by_the_missing failed",
        "requests for other servers meanwhile: p50, p99, max, ms":
            "other_shards_milliseconds.p50 other_shards_milliseconds.p99 other_shards_milliseconds.max",
    },
    "chaos limits": {
        "accepted with a stopped clock: Free, Starter, Pro":
            "still_free_1.accepted still_starter_1.accepted still_pro_1.accepted",
        "accepted with a running clock: Free, Starter": "ticking_free_1.accepted ticking_starter_1.accepted",
        "waits for Retry-After, accepted after it, accepted a second earlier":
            "waits accepted_after_retry_after accepted_a_second_earlier",
    },
    "chaos redis": {
        "Redis is wiped: slowest of the first loads in ms, extra loads on Free, exact again after s": _redis("wiped"),
        "the same, killed": _redis("killed"),
        "the same, frozen": _redis("frozen"),
        "p50 in ms while it is killed: with Redis, without":
            "killed_open_milliseconds.with_redis.p50 killed_open_milliseconds.without_redis.p50",
        "p50 in ms while it is frozen: with Redis, without":
            "frozen_open_milliseconds.with_redis.p50 frozen_open_milliseconds.without_redis.p50",
    },
    "chaos files": {
        "uploads, ready, failed as poison pills": "uploads outcomes.ready failed_as_poison_pills",
        "workers killed": "kills",
        "connections to the store cut, slowed": "connections_to_the_store.cut connections_to_the_store.slowed",
        "objects left, each with its row": "objects",
    },
    "chaos scanner": {
        "seconds to the verdict: scanner absent, frozen": "absent.seconds frozen.seconds",
        "uploads while it reloads, ready": "reloading.uploads reloading.ready",
        "1 GB in s: malware near its end, clean": "near_the_end_of_1_gb.seconds resembling_an_archive.seconds",
    },
    "chaos store": {
        "loads; p50, p99, max, ms": "loads load_milliseconds.p50 load_milliseconds.p99 load_milliseconds.max",
        "upload sessions refused; first refusal after s": "refused_sessions refused_after_seconds",
        "accepted again after, s": "taken_again_after_seconds",
    },
    "chaos server": {
        "cargo, delivered, per second": "cargo delivered cargo_per_second",
        "kills; requests sent again, of them cut by a kill, answered and not stored":
            "process_kills repeated cut answers_not_stored_at_kill",
        "answers with a JSON schema, valid; forced calls of a tool, valid":
            "schemas_loaded schemas_valid calls_loaded calls_valid",
    },
    "chaos freeze": _INTERRUPTIONS,
    "chaos partition": _INTERRUPTIONS,
    "chaos promote": {**_CHAOS, "promotions": "promotions", "longest promotion, s": "promotion_seconds.max"},
    "chaos restore": {
        "cargo answered with 202": "acknowledged",
        "lost, and not named by the report": "lost unnamed",
        "share that no one could name": "unnamed_share",
    },
    "chaos failover": {
        **_CHAOS,
        "seconds until Patroni takes the role": "ttl_seconds",
        "longest time without a 202, s": "longest_seconds_without_202",
    },
    "chaos statements": {
        **_CHAOS,
        "statements, faults": "statements faults",
        "idempotency keys, with several cargo, loads sent again": "keys keys_with_several_cargo repeats",
    },
    "chaos overload": {
        "five times the load: sustained per second, goodput to it, refusals p99 in ms, the last one after s":
            _overload("load"),
        "the same, 200 ms from the database": _overload("distance"),
        "clocks 10 minutes off: ids with a wrong time, callback p99 in s, slowest retry in s":
            "clocks.ids_with_a_wrong_time clocks.callback_seconds.p99 clocks.retry_seconds.max",
        "full disk: first refusal after s, loads work again after s":
            "disk.first_refusal_after_seconds disk.works_after_seconds",
        "lost in each part": "load.lost distance.lost clocks.lost disk.lost",
    },
    "chaos neighbours": {
        "hanging provider: load to callback p99 in s of the mock, without and with": _victim("provider_svc_mock"),
        "the same of another batch account": _victim("provider_healthy_batch"),
        "the same of another server": _victim("provider_healthy_server"),
        "flood: the latecomer's callback in s, without and with": "flood.seconds_without flood.seconds_with",
        "flood: cargo, batches between the latecomer's load and its own":
            "flood.cargo flood.batches_between_load_and_own",
        "dead receivers: load to callback p99 in s of healthy ones, without and with": _victim("receivers"),
        "dead receivers: due to sent p99 in s, without and with":
            "receivers_due_to_sent_seconds.without.p99 receivers_due_to_sent_seconds.with.p99",
        "dead receivers: organizations, faulty, healthy callbacks per second":
            "receivers_organizations receivers_faulty receivers_healthy_per_second",
        "`[mock:` text: load to callback p99 in s of others, without and with": _victim("poison"),
        "large loads: the same": _victim("memory"),
        "large loads: count; most memory in MB of `work`, `serve`":
            "memory_loads.count memory_loads.work_peak_megabytes memory_loads.serve_peak_megabytes",
        "half-open requests: the same p99": _victim("connections"),
        "half-open requests: load p99 in ms, without and with":
            "connections.without.load_milliseconds.p99 connections.with.load_milliseconds.p99",
        "half-open requests: opened, closed by the service":
            "connections_half_open.opened connections_half_open.closed",
    },
    "chaos idle": {
        "connections without a key": "connections",
        "loads p99 in ms without them, with them, ratio: directly": _idle("direct"),
        "the same through a trusted proxy": _idle("proxy"),
        "the same with a limit of half as many": _idle("limit"),
        "open files, memory of `serve` in MB": "direct.attacks.0.serve.open_files direct.attacks.0.serve.megabytes",
        "closed by deadlines": "direct.attacks.0.serve.connections.timed_out",
    },
    "chaos markers": {
        "cargo, files read, MB": "cargo encrypted.files encrypted.megabytes",
        "kinds of content found: with encryption, without": "encrypted.kinds_found plain.kinds_found",
    },
    "chaos alerts": {
        "rules of alerts, those that fired": "rules rules_that_fired",
        "queries of dashboards, those with data": "queries queries_with_data",
        "seconds of all faults": "seconds",
    },
    "chaos cancel": {
        "cargo, cancelled, too late": "cargo cancelled too_late",
        "jobs, requests sent": "jobs lines_sent",
    },
    "chaos run": {
        "lines, kills": "lines kills",
        "memory of `longshore run` in MB": "peak_megabytes",
        "memory of `map` in Python in MB": "map.peak_megabytes",
    },
    "chaos upgrade": {
        "the version before; cargo stored, offered": "before stored offered",
        "loads slower than 1 s; p99 in ms": "slow load_ms.p99",
        "rollback": "rollback",
    },
    "chaos listen": {"callbacks received, twice": "received duplicates"},
    "chaos submit": {
        "kills, jobs, items": "kills jobs items",
        "jobs whose response was lost, submitted twice": "jobs_without_answer submitted_twice",
    },
    "model": {"operations; seed": "operations seed"},
    "interleavings": {"seeds; the first": "seeds first"},
    "bugs": {
        "bugs put back, found by a test and by a seed of the interleavings": "bugs found",
        "the seed: claim without key share, fencing that blocks renewal, resend race":
            "seeds.claim-without-key-share seeds.fencing-blocks-renewal seeds.resend-race",
        "the seed: job after a lost claim, unbounded gather, connection in a transaction":
            "seeds.job-after-lost-claim seeds.unbounded-gather seeds.connection-in-transaction",
    },
    "bugs attacks": {"fixes taken back; attack tests, those that failed then": "patches tests found"},
    "fuzz api": {"cases": "cases", "posts to the dashboard's forms": "form_posts", "pages, forms": "pages forms"},
    "image": {
        "size of the image in bytes: unpacked, compressed": "bytes compressed_bytes",
        "from start to the first answer, ms": "start_milliseconds",
        "memory in kB at rest: `serve`, `work`": "serve_idle_kilobytes work_idle_kilobytes",
        "memory in kB after the conformance tests: `serve`, `work`": "serve_kilobytes work_kilobytes",
    },
    "compose": {
        "seconds until it is ready: first start, second start": "first_start_seconds second_start_seconds",
    },
    "soak": {
        "minutes, trials, failed": "minutes trials failed",
        "kills, of them in `chaos submit`": "kills kills_of_submit",
        "loaded, lost, callbacks sent twice": "loaded lost duplicates",
    },
    "compare": {
        "the commit before; rounds": "before rounds",
        "load, `svc-mock` without Redis: median ratio to the commit before; of that commit to itself":
            _rate("load, svc-mock without Redis"),
        "load, `svc-mock` with limits in Redis": _rate("load, svc-mock with Redis limits"),
        "load, priced": _rate("load, priced with Redis limits"),
        "load, priced, one organization": _rate("load, priced with Redis limits, alone"),
        "journey": _rate("journey"),
        "journey by CPU time": _rate("journey by CPU time"),
    },
}
