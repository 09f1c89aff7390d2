//! How many callbacks one receiver may have in flight: one at first, more while it answers
//! quickly, fewer when it is slow, one when it does not answer.

use std::time::Duration;

use chrono::TimeDelta;

use crate::time::Timestamp;

/// An answer within this time is quick.
const QUICK_ANSWER: Duration = Duration::from_secs(1);
/// The most that one answer counts in the average: one timeout does not make a quick host slow.
const MAX_SAMPLE: Duration = Duration::from_secs(4);
/// The limit after the first quick answer.
const LIMIT_AFTER_QUICK_ANSWER: usize = 4;
/// After so many failures in a row a host that has answered before counts as failing.
const MAX_FAILURES_IN_A_ROW: u32 = 3;
/// A host that answers none of its callbacks in flight for so long gets no more until it does.
const STALL_TIMEOUT: TimeDelta = TimeDelta::seconds(2);

/// What a host's answers say about it. Hosts of one class share a part of all slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostClass {
    Quick,
    /// It has not been called yet, or not for a long time.
    Unknown,
    /// It answers, but takes long.
    Slow,
    /// It does not answer: it refuses, hangs, or has no address.
    Failing,
}

impl HostClass {
    pub const ALL: [Self; 4] = [Self::Quick, Self::Unknown, Self::Slow, Self::Failing];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Unknown => "unknown",
            Self::Slow => "slow",
            Self::Failing => "failing",
        }
    }

    /// How much of `whole` this class may take. Quick hosts always find a quarter free.
    pub fn ceiling(self, whole: usize) -> usize {
        match self {
            Self::Quick => whole,
            Self::Unknown | Self::Slow | Self::Failing => (whole / 4).max(1),
        }
    }
}

/// How one attempt ended, for the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAnswer {
    /// A complete answer with any status.
    Answered(Duration),
    /// No complete answer: refused, timed out, cut off, or the name has no address.
    Failed(Duration),
}

/// The concurrency limit of one host, adapted to its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPace {
    limit: usize,
    /// The moving average of how long attempts take.
    average: Option<Duration>,
    has_answered: bool,
    failures_in_a_row: u32,
}

impl Default for HostPace {
    fn default() -> Self {
        Self {
            limit: 1,
            average: None,
            has_answered: false,
            failures_in_a_row: 0,
        }
    }
}

impl HostPace {
    /// The pace of a host at the first contact of one organization, when others know it as failing.
    pub fn failing() -> Self {
        Self {
            average: Some(MAX_SAMPLE),
            failures_in_a_row: 1,
            ..Self::default()
        }
    }

    pub const fn limit(&self) -> usize {
        self.limit
    }

    pub fn class(&self) -> HostClass {
        let allowed = if self.has_answered {
            MAX_FAILURES_IN_A_ROW
        } else {
            1
        };
        match self.average {
            _ if self.failures_in_a_row >= allowed => HostClass::Failing,
            None => HostClass::Unknown,
            Some(average) if average > QUICK_ANSWER => HostClass::Slow,
            Some(_) => HostClass::Quick,
        }
    }

    /// Adapts the limit, which never exceeds `max_limit`.
    pub fn record(&mut self, answer: HostAnswer, max_limit: usize) {
        match answer {
            HostAnswer::Answered(took) => {
                self.add_sample(took);
                self.has_answered = true;
                self.failures_in_a_row = 0;
                self.limit = self.limit_after(took, max_limit.max(1));
            }
            HostAnswer::Failed(took) => {
                self.add_sample(took);
                self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
                self.limit = (self.limit / 2).max(1);
            }
        }
    }

    /// A quick answer raises the limit by one. A slow one moves it towards the part of the
    /// maximum that keeps a host's slots in proportion to its speed.
    fn limit_after(&self, took: Duration, max_limit: usize) -> usize {
        if took <= QUICK_ANSWER {
            let raised = (self.limit + 1).max(LIMIT_AFTER_QUICK_ANSWER);
            return raised.min(max_limit);
        }
        let quick = usize::try_from(QUICK_ANSWER.as_millis()).unwrap_or(usize::MAX);
        let took = usize::try_from(took.as_millis()).unwrap_or(usize::MAX);
        let target = (max_limit.saturating_mul(quick) / took.max(1)).max(1);
        if self.limit > target {
            (self.limit / 2).max(target)
        } else {
            (self.limit + 1).min(target)
        }
    }

    /// The average rises slowly and falls fast: a host that recovers is trusted again soon.
    fn add_sample(&mut self, took: Duration) {
        let sample = took.min(MAX_SAMPLE);
        self.average = Some(match self.average {
            None => sample,
            Some(average) if sample > average => average + sample.saturating_sub(average) / 8,
            Some(average) => (average + sample) / 2,
        });
    }
}

/// Whether a host leaves everything in flight unanswered, since `silent_since`.
pub fn is_stalled(in_flight: usize, silent_since: Timestamp, now: Timestamp) -> bool {
    in_flight > 0 && now - silent_since > STALL_TIMEOUT
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 256;
    const QUICK: HostAnswer = HostAnswer::Answered(Duration::from_millis(50));
    const TIMEOUT: HostAnswer = HostAnswer::Failed(Duration::from_secs(30));
    const REFUSED: HostAnswer = HostAnswer::Failed(Duration::from_millis(1));

    fn pace(answers: impl IntoIterator<Item = HostAnswer>) -> HostPace {
        let mut pace = HostPace::default();
        for answer in answers {
            pace.record(answer, MAX);
        }
        pace
    }

    fn answered(seconds: u64, count: usize) -> Vec<HostAnswer> {
        vec![HostAnswer::Answered(Duration::from_secs(seconds)); count]
    }

    #[test]
    fn an_unknown_host_is_tried_with_one() {
        let pace = HostPace::default();
        assert_eq!((pace.limit(), pace.class()), (1, HostClass::Unknown));
    }

    #[test]
    fn quick_answers_raise_the_limit_to_its_maximum() {
        let limit = |count| pace(std::iter::repeat_n(QUICK, count)).limit();
        assert_eq!(
            [limit(1), limit(2), limit(100), limit(1000)],
            [4, 5, 103, 256]
        );
        assert_eq!(pace([QUICK]).class(), HostClass::Quick);
    }

    #[test]
    fn a_host_that_never_answered_is_failing_at_once() {
        for failure in [TIMEOUT, REFUSED] {
            let pace = pace([failure]);
            assert_eq!((pace.limit(), pace.class()), (1, HostClass::Failing));
        }
    }

    #[test]
    fn one_timeout_halves_the_limit_of_a_quick_host_and_three_make_it_failing() {
        let with = |timeouts| {
            let answers = std::iter::repeat_n(QUICK, 61);
            let pace = pace(answers.chain(std::iter::repeat_n(TIMEOUT, timeouts)));
            (pace.limit(), pace.class())
        };
        assert_eq!(with(1), (32, HostClass::Quick));
        assert_eq!(with(2), (16, HostClass::Quick));
        assert_eq!(with(3), (8, HostClass::Failing));
        assert_eq!(with(9), (1, HostClass::Failing));
    }

    #[test]
    fn a_slow_host_keeps_slots_in_proportion_to_its_speed() {
        let slow = pace(answered(5, 1000));
        assert_eq!((slow.limit(), slow.class()), (51, HostClass::Slow));
        let mut slower = pace(std::iter::repeat_n(QUICK, 1000));
        for answer in answered(20, 20) {
            slower.record(answer, MAX);
        }
        assert_eq!((slower.limit(), slower.class()), (12, HostClass::Slow));
    }

    #[test]
    fn a_host_that_recovers_is_quick_after_a_few_answers() {
        let mut pace = pace(std::iter::repeat_n(TIMEOUT, 50));
        let mut classes = Vec::new();
        for _ in 0..3 {
            pace.record(QUICK, MAX);
            classes.push(pace.class());
        }
        assert_eq!(
            classes,
            [HostClass::Slow, HostClass::Slow, HostClass::Quick]
        );
        assert_eq!(pace.limit(), 6);
    }

    #[test]
    fn quick_hosts_always_find_a_quarter_free() {
        let others = HostClass::ALL
            .into_iter()
            .filter(|it| *it != HostClass::Quick);
        let taken: usize = others.map(|class| class.ceiling(4096)).sum();
        assert_eq!(HostClass::Quick.ceiling(4096) - taken, 1024);
    }

    #[test]
    fn a_host_is_stalled_while_it_leaves_everything_unanswered() {
        let since = Timestamp::UNIX_EPOCH;
        let after = |millis| since + TimeDelta::milliseconds(millis);
        assert!(!is_stalled(1, since, after(2000)));
        assert!(is_stalled(1, since, after(2001)));
        assert!(!is_stalled(0, since, after(60_000)));
    }
}
