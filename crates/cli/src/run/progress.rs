//! How far a run is: counts, cost, rate and the time that is left.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::numbers::{dollars, duration, group_digits};
use crate::run::answer_store::AnswerTotals;

/// The rate is that of the last so many seconds.
const RATE_WINDOW: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProgressSnapshot {
    pub requests: u64,
    pub loaded: u64,
    pub totals: AnswerTotals,
    /// Of the estimate, in nano-dollars.
    pub likely_cost: Option<u64>,
    /// Answers in a second.
    pub rate: Option<f64>,
    /// Why nothing moves, if that is known.
    pub is_disconnected: bool,
}

#[derive(Debug, Default)]
pub struct RunProgress {
    state: Mutex<ProgressState>,
}

#[derive(Debug, Default)]
struct ProgressState {
    snapshot: ProgressSnapshot,
    samples: VecDeque<(Instant, u64)>,
}

impl RunProgress {
    pub fn new(snapshot: ProgressSnapshot) -> Self {
        Self {
            state: Mutex::new(ProgressState {
                snapshot,
                samples: VecDeque::new(),
            }),
        }
    }

    pub fn set_loaded(&self, loaded: u64) {
        self.state.lock().snapshot.loaded = loaded;
    }

    pub fn add_loaded(&self, count: u64) {
        self.state.lock().snapshot.loaded += count;
    }

    pub fn set_totals(&self, totals: AnswerTotals) {
        self.state.lock().snapshot.totals = totals;
    }

    pub fn set_disconnected(&self, is_disconnected: bool) {
        self.state.lock().snapshot.is_disconnected = is_disconnected;
    }

    /// The counts now, with the rate of the last minute.
    pub fn sample(&self, now: Instant) -> ProgressSnapshot {
        let mut state = self.state.lock();
        let answered = state.snapshot.totals.answered;
        state.samples.push_back((now, answered));
        while state.samples.len() > 2
            && state
                .samples
                .front()
                .is_some_and(|(at, _)| now.duration_since(*at) > RATE_WINDOW)
        {
            state.samples.pop_front();
        }
        let rate = state.samples.front().and_then(|(at, before)| {
            let seconds = now.duration_since(*at).as_secs_f64();
            let count = u32::try_from(answered.saturating_sub(*before)).unwrap_or(u32::MAX);
            (seconds > 0.0 && count > 0).then(|| f64::from(count) / seconds)
        });
        ProgressSnapshot {
            rate,
            ..state.snapshot
        }
    }
}

/// One line for people.
pub fn render(progress: &ProgressSnapshot) -> String {
    let ProgressSnapshot {
        requests,
        loaded,
        totals,
        likely_cost,
        rate,
        is_disconnected,
    } = *progress;
    let mut parts = vec![
        format!("loaded {}/{}", group_digits(loaded), group_digits(requests)),
        format!("done {}", group_digits(totals.answered)),
        format!("failed {}", group_digits(totals.failed)),
        match likely_cost {
            Some(likely) => format!("{} of ~{}", dollars(totals.charged), dollars(likely)),
            None => dollars(totals.charged),
        },
    ];
    if let Some(rate) = rate {
        parts.push(format!("{rate:.1}/s"));
        let left = requests.saturating_sub(totals.answered);
        let left = f64::from(u32::try_from(left).unwrap_or(u32::MAX));
        if let Ok(time) = Duration::try_from_secs_f64(left / rate)
            && !time.is_zero()
        {
            parts.push(format!("about {} left", duration(time)));
        }
    }
    if is_disconnected {
        parts.push("no connection, retrying".to_owned());
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> ProgressSnapshot {
        ProgressSnapshot {
            requests: 10_000,
            loaded: 10_000,
            totals: AnswerTotals {
                answered: 6_000,
                failed: 3,
                refused: 0,
                charged: 840_000_000,
            },
            likely_cost: Some(1_300_000_000),
            rate: None,
            is_disconnected: false,
        }
    }

    #[test]
    fn a_line_says_how_far_the_run_is() {
        let moving = ProgressSnapshot {
            rate: Some(20.0),
            ..snapshot()
        };
        assert_eq!(
            render(&moving),
            "loaded 10,000/10,000 · done 6,000 · failed 3 · $0.84 of ~$1.30 · 20.0/s · about 3 min \
             20 s left"
        );
        let waiting = ProgressSnapshot {
            likely_cost: None,
            is_disconnected: true,
            ..snapshot()
        };
        assert_eq!(
            render(&waiting),
            "loaded 10,000/10,000 · done 6,000 · failed 3 · $0.84 · no connection, retrying"
        );
    }

    #[test]
    fn the_rate_is_that_of_the_last_minute() {
        let progress = RunProgress::new(ProgressSnapshot::default());
        let start = Instant::now();
        assert_eq!(progress.sample(start).rate, None);
        progress.set_totals(AnswerTotals {
            answered: 100,
            ..AnswerTotals::default()
        });
        let later = start + Duration::from_secs(10);
        assert_eq!(progress.sample(later).rate, Some(10.0));
        let much_later = later + Duration::from_secs(90);
        assert_eq!(progress.sample(much_later).rate, None);
    }
}
