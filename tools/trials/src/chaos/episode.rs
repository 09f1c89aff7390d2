//! One fault of Redis from the calm before it to the calm after it, and what it may cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chaos::samples::{Asker, Samples};
use crate::figures::{self, milliseconds, percentile, rounded, spread};
use crate::verdict::Verdict;

/// The greedy one's plan: Free.
const BURST: f64 = 100.0;
const PER_SECOND: f64 = 0.5;
/// What a call to Redis may take, in milliseconds: the service's default.
const BUDGET: f64 = 20.0;
/// The calls under way when it happens, and those begun right after.
const FIRST: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(100));
const LATEST_EXACT: Duration = Duration::from_secs(5);
/// A window begins and ends anywhere between two tokens.
const WINDOW_SLACK: f64 = 2.0;
/// Each may grant a token more where Redis was too slow to be asked.
const PROCESSES: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every key is gone.
    Wiped,
    /// The process is gone, and comes back empty.
    Killed,
    /// The process stands still, and goes on with all it knew.
    Frozen,
}

impl Fault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wiped => "wiped",
            Self::Killed => "killed",
            Self::Frozen => "frozen",
        }
    }

    /// How long nobody answers.
    pub const fn away(self) -> Option<Duration> {
        match self {
            Self::Wiped => None,
            Self::Killed => Some(Duration::from_secs(2)),
            Self::Frozen => Some(Duration::from_secs(5)),
        }
    }
}

/// When what was seen.
#[derive(Debug)]
pub struct Episode {
    pub fault: Fault,
    pub calm_since: Instant,
    pub at: Instant,
    /// Both processes did without Redis.
    pub opened: Option<Instant>,
    pub back: Instant,
    /// Both asked Redis again, and the greedy one had used up what it found.
    pub exact: Instant,
    /// The last one is quiet, if any is.
    pub windows: Vec<Window>,
    /// Answers without Redis after its return: a machine that was too slow is one more fault.
    pub fallbacks: f64,
}

/// A stretch of time in which acceptance is counted.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from: Instant,
    pub before: Instant,
    /// Answers without Redis.
    pub fallbacks: f64,
}

impl Episode {
    pub fn judge(&self, samples: &Samples, verdict: &mut Verdict) {
        self.judge_patience(samples, verdict);
        self.judge_exactness(samples, verdict);
    }

    /// Who waited how long for a Redis that does not answer.
    ///
    /// Whatever slows the machine at a moment slows the bystanders too, who never had a Redis.
    fn judge_patience(&self, samples: &Samples, verdict: &mut Verdict) {
        let name = self.fault.name();
        let under_way = self.at.checked_sub(FIRST.0).unwrap_or(self.at);
        let first = (under_way, self.at + FIRST.1);
        let mut calm = Times::between(samples, self.calm_since, under_way);
        let mut at_first = Times::between(samples, first.0, first.1);
        let around = (self.calm_since, first.1 + FIRST.1);
        let beside = Times::between(samples, around.0, around.1).beside;
        let slowest = percentile(&mut [beside, calm.modest.clone()].concat(), 1000);
        verdict
            .note(&format!("{name}_calm_milliseconds"), calm.figures())
            .note(&format!("{name}_first_milliseconds"), at_first.figures())
            // Of the first calls a third waits, so one in ten is not left to chance.
            .promise(
                format!("{name}: the first calls wait for the budget at most"),
                percentile(&mut at_first.modest, 900) <= slowest.map(|most| most + BUDGET),
            );
        if self.fault.away().is_none() {
            return;
        }
        let Some(opened) = self.opened else {
            verdict.promise(format!("{name}: both processes notice"), false);
            return;
        };
        let mut open = Times::between(samples, opened.max(first.1), self.back);
        verdict
            .note(
                &format!("{name}_noticed_after_milliseconds"),
                rounded(milliseconds(opened - self.at), 0),
            )
            .note(&format!("{name}_open_milliseconds"), open.figures())
            .promise(
                format!("{name}: nobody waits once the breaker is open"),
                open.are_alike(),
            );
    }

    /// What the greedy one got, and when its limit held again.
    fn judge_exactness(&self, samples: &Samples, verdict: &mut Verdict) {
        let name = self.fault.name();
        let Some(window) = self.windows.last() else {
            return;
        };
        let beyond_refill = |from: Instant| {
            let accepted = samples.accepted(Asker::Greedy, from, window.before);
            figures::number(accepted) - PER_SECOND * (window.before - from).as_secs_f64()
        };
        let (extra, error) = (beyond_refill(self.at), beyond_refill(window.from));
        let late = self.exact - self.back;
        let faults = if self.fallbacks > 0.0 { 2.0 } else { 1.0 };
        let slack = if window.fallbacks > 0.0 {
            WINDOW_SLACK + PROCESSES
        } else {
            WINDOW_SLACK
        };
        verdict
            .note(&format!("{name}_extra"), rounded(extra, 1))
            .note(
                &format!("{name}_exact_after_seconds"),
                rounded(late.as_secs_f64(), 2),
            )
            .note(
                &format!("{name}_window"),
                json!({"beyond_the_refill": rounded(error, 1), "tries": self.windows.len()}),
            )
            .note(&format!("{name}_fallbacks_after_return"), self.fallbacks)
            // A token may have been on its way into the bucket when it happened.
            .promise(
                format!("{name}: at most one extra burst for each fault"),
                extra <= BURST * faults + 1.0,
            )
            .promise(
                format!("{name}: exact again within 5 s"),
                late <= LATEST_EXACT,
            )
            .promise(
                format!("{name}: then only the refill is accepted"),
                error.abs() <= slack,
            );
    }
}

/// Milliseconds of the same stretch of time, with a Redis at fault and without any.
struct Times {
    modest: Vec<f64>,
    beside: Vec<f64>,
}

impl Times {
    fn between(samples: &Samples, from: Instant, before: Instant) -> Self {
        Self {
            modest: samples.milliseconds(Asker::Modest, from, before),
            beside: samples.milliseconds(Asker::Bystander, from, before),
        }
    }

    /// Half a budget is more than chance does to the many, and less than one wait.
    /// The slowest few are chance on both sides.
    fn are_alike(&mut self) -> bool {
        !self.modest.is_empty()
            && [500, 900].into_iter().all(|thousandths| {
                let beside = percentile(&mut self.beside, thousandths);
                let modest = percentile(&mut self.modest, thousandths);
                modest <= beside.map(|beside| beside + BUDGET / 2.0)
            })
    }

    fn figures(&mut self) -> Value {
        json!({"modest": spread(&mut self.modest), "beside": spread(&mut self.beside)})
    }
}
