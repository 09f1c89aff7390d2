//! One fault of Redis, from before it to after the recovery, and what it may cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::build_profile;
use crate::harness::load::load_log;
use crate::harness::measurement::statistics;
use crate::harness::{
    LoadLog, LoadRecord, TrialVerdict, judge, percentile, round_to, summarize, to_milliseconds,
};

/// The label of an organization far below its limit.
pub const WITHIN_LIMIT: &str = "within limit";
/// The label of an organization always at its limit.
pub const OVER_LIMIT: &str = "over limit";
/// The same as within the limit, at a process that never had a Redis: shows how slow the
/// machine is.
pub const WITHOUT_REDIS: &str = "without Redis";
/// The plan of the organization over its limit: Free.
const FREE_PLAN_BURST: f64 = 100.0;
const FREE_PLAN_LOADS_PER_SECOND: f64 = 0.5;
/// How long a call to Redis may take: the service's default, and longer in a debug build, whose
/// calls take longer than that on a busy machine.
pub const REDIS_BUDGET_MILLISECONDS: f64 = build_profile::choose(200.0, 20.0);
/// Both processes must notice a fault by then.
pub const NOTICE_TIMEOUT: Duration = Duration::from_secs(2);
/// Calls in flight when the fault happens, and calls that begin right after.
const FIRST_CALLS_WINDOW: (Duration, Duration) =
    (Duration::from_millis(25), Duration::from_millis(100));
const MAX_EXACT_DELAY: Duration = Duration::from_secs(5);
/// A window begins and ends anywhere between two tokens.
const MAX_WINDOW_ERROR: f64 = 2.0;
/// Each process may grant one token more when Redis was too slow.
const PROCESS_COUNT: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisFault {
    /// All keys are deleted.
    Wiped,
    /// The process is killed and restarts empty.
    Killed,
    /// The process is stopped and continues with its keys.
    Frozen,
}

impl RedisFault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wiped => "wiped",
            Self::Killed => "killed",
            Self::Frozen => "frozen",
        }
    }

    /// How long Redis does not answer.
    pub const fn outage_duration(self) -> Option<Duration> {
        match self {
            Self::Wiped => None,
            Self::Killed => Some(Duration::from_secs(2)),
            Self::Frozen => Some(Duration::from_secs(5)),
        }
    }
}

/// When each step of the fault was observed.
#[derive(Debug)]
pub struct RedisFaultRecord {
    pub fault: RedisFault,
    pub calm_from: Instant,
    pub injected_at: Instant,
    /// Both processes worked without Redis.
    pub breakers_opened_at: Option<Instant>,
    pub restored_at: Instant,
    /// Both processes used Redis again, and the organization over its limit had an empty
    /// bucket.
    pub exact_at: Instant,
    /// The last window has no fallbacks, if any has none.
    pub windows: Vec<AcceptanceWindow>,
    /// Decisions without Redis after the recovery: a machine that is too slow is one more
    /// fault.
    pub fallbacks_after_restore: f64,
}

/// A period in which accepted loads are counted.
#[derive(Debug, Clone, Copy)]
pub struct AcceptanceWindow {
    pub from: Instant,
    pub before: Instant,
    /// Decisions without Redis.
    pub fallbacks: f64,
}

impl RedisFaultRecord {
    pub fn judge(&self, loads: &LoadLog, verdict: &mut TrialVerdict) {
        self.judge_latency(loads, verdict);
        self.judge_exactness(loads, verdict);
    }

    /// How long calls waited for a Redis that does not answer.
    ///
    /// If the machine itself is slow, so are the loads at the process that never had a Redis.
    fn judge_latency(&self, loads: &LoadLog, verdict: &mut TrialVerdict) {
        let name = self.fault.name();
        let under_way = self
            .injected_at
            .checked_sub(FIRST_CALLS_WINDOW.0)
            .unwrap_or(self.injected_at);
        let first = (under_way, self.injected_at + FIRST_CALLS_WINDOW.1);
        let mut calm = LatencyComparison::between(loads, self.calm_from, under_way);
        let mut at_first = LatencyComparison::between(loads, first.0, first.1);
        let around = (self.calm_from, first.1 + FIRST_CALLS_WINDOW.1);
        let without_redis = LatencyComparison::between(loads, around.0, around.1).without_redis;
        let slowest = percentile(&mut [without_redis, calm.with_redis.clone()].concat(), 1000);
        judge! { verdict;
            record &format!("{name}_calm_milliseconds") => calm.summary(),
            record &format!("{name}_first_milliseconds") => at_first.summary(),
            // A third of the first calls waits, so the 90th percentile does not depend on
            // chance.
            check_figure format!("{name}: the first calls wait at most for the Redis budget") =>
                percentile(&mut at_first.with_redis, 900)
                    <= slowest.map(|most| most + REDIS_BUDGET_MILLISECONDS),
        }
        if self.fault.outage_duration().is_none() {
            return;
        }
        let Some(opened) = self.breakers_opened_at else {
            verdict.check(format!("{name}: both processes notice"), false);
            return;
        };
        let mut open = LatencyComparison::between(loads, opened.max(first.1), self.restored_at);
        judge! { verdict;
            record &format!("{name}_noticed_after_milliseconds") =>
                round_to(to_milliseconds(opened - self.injected_at), 0),
            record &format!("{name}_open_milliseconds") => open.summary(),
            check_figure format!("{name}: both processes notice within 2 s") =>
                opened - self.injected_at <= NOTICE_TIMEOUT,
            check_figure format!("{name}: no call waits once the breaker is open") =>
                open.is_similar(),
        }
    }

    /// How much the organization over its limit got, and when its limit held again.
    fn judge_exactness(&self, loads: &LoadLog, verdict: &mut TrialVerdict) {
        let name = self.fault.name();
        let Some(window) = self.windows.last() else {
            return;
        };
        let beyond_refill = |from: Instant| {
            let accepted = labelled(loads, OVER_LIMIT, from, window.before)
                .iter()
                .filter(|load| load.is_accepted())
                .count();
            statistics::to_f64(accepted)
                - FREE_PLAN_LOADS_PER_SECOND * (window.before - from).as_secs_f64()
        };
        let (extra, error) = (beyond_refill(self.injected_at), beyond_refill(window.from));
        let late = self.exact_at - self.restored_at;
        let faults = if self.fallbacks_after_restore > 0.0 {
            2.0
        } else {
            1.0
        };
        let slack = if window.fallbacks > 0.0 {
            MAX_WINDOW_ERROR + PROCESS_COUNT
        } else {
            MAX_WINDOW_ERROR
        };
        judge! { verdict;
            record &format!("{name}_extra") => round_to(extra, 1),
            record &format!("{name}_exact_after_seconds") => round_to(late.as_secs_f64(), 2),
            record &format!("{name}_window") =>
                json!({"beyond_the_refill": round_to(error, 1), "tries": self.windows.len()}),
            record &format!("{name}_fallbacks_after_return") => self.fallbacks_after_restore,
            check_figure format!("{name}: limits are exact again within 5 s") =>
                late <= MAX_EXACT_DELAY,
            check_figure format!("{name}: then only the refill is accepted") =>
                error.abs() <= slack,
        }
        // A token may have been about to enter the bucket when the fault happened.
        let is_bounded = extra <= FREE_PLAN_BURST * faults + 1.0;
        let what = format!("{name}: at most one extra burst for each fault");
        if self.fallbacks_after_restore > 0.0 {
            // A slow machine is a fault as often as a call takes longer than the budget.
            verdict.check_figure(what, is_bounded);
        } else {
            verdict.check(what, is_bounded);
        }
    }
}

/// Loads of one label that began in this period.
fn labelled(loads: &LoadLog, label: &str, from: Instant, before: Instant) -> Vec<LoadRecord> {
    let mut found = loads.between(from, before);
    found.retain(|load| load.source.label == label);
    found
}

/// Milliseconds of the same period, with the faulty Redis and without any.
struct LatencyComparison {
    with_redis: Vec<f64>,
    without_redis: Vec<f64>,
}

impl LatencyComparison {
    fn between(loads: &LoadLog, from: Instant, before: Instant) -> Self {
        let milliseconds = |label| {
            let found = labelled(loads, label, from, before);
            load_log::milliseconds_where(&found, |_| true)
        };
        Self {
            with_redis: milliseconds(WITHIN_LIMIT),
            without_redis: milliseconds(WITHOUT_REDIS),
        }
    }

    /// Half the budget is more than the noise of most calls, and less than one wait. The
    /// slowest few are noise on both sides.
    fn is_similar(&mut self) -> bool {
        !self.with_redis.is_empty()
            && [500, 900].into_iter().all(|thousandths| {
                let without_redis = percentile(&mut self.without_redis, thousandths);
                let modest = percentile(&mut self.with_redis, thousandths);
                modest
                    <= without_redis
                        .map(|without_redis| without_redis + REDIS_BUDGET_MILLISECONDS / 2.0)
            })
    }

    fn summary(&mut self) -> Value {
        json!({"with_redis": summarize(&mut self.with_redis), "without_redis": summarize(&mut self.without_redis)})
    }
}
