//! Every request of a run with its moment, so that any stretch of it can be looked at.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::figures;

/// Who asked, and so what the answer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Far below its limit.
    Modest,
    /// Always at its limit.
    Greedy,
    /// Like the modest, of a process that never had a Redis: how slow is the machine right now?
    Bystander,
}

#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub asker: Asker,
    pub began: Instant,
    pub milliseconds: f64,
    /// 0 when there was no answer.
    pub status: u16,
}

#[derive(Debug, Default)]
pub struct Samples(Mutex<Vec<Sample>>);

impl Samples {
    /// Notes a request that has ended just now.
    pub fn note(&self, asker: Asker, began: Instant, status: u16) {
        let sample = Sample {
            asker,
            began,
            milliseconds: figures::milliseconds(began.elapsed()),
            status,
        };
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push(sample);
    }

    /// What an asker began from one moment on and before another.
    pub fn between(&self, asker: Asker, from: Instant, before: Instant) -> Vec<Sample> {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = samples
            .iter()
            .filter(|sample| sample.asker == asker)
            .filter(|sample| sample.began >= from && sample.began < before);
        found.copied().collect()
    }

    pub fn milliseconds(&self, asker: Asker, from: Instant, before: Instant) -> Vec<f64> {
        let found = self.between(asker, from, before);
        found.iter().map(|sample| sample.milliseconds).collect()
    }

    pub fn accepted(&self, asker: Asker, from: Instant, before: Instant) -> usize {
        let found = self.between(asker, from, before);
        found.iter().filter(|sample| sample.status == 202).count()
    }

    /// Whether the greedy one has had `refusals` since then with hardly a success among them.
    pub fn is_held_back_since(&self, since: Instant, refusals: usize) -> bool {
        let mut latest = self.between(Asker::Greedy, since, Instant::now());
        latest.sort_unstable_by_key(|sample| sample.began);
        let latest = latest.iter().rev().take(refusals);
        let statuses: Vec<u16> = latest.map(|sample| sample.status).collect();
        let refused = statuses.iter().filter(|status| **status == 429).count();
        statuses.len() == refusals && refused + 1 >= refusals
    }

    /// How often this was the status of anyone's answer.
    pub fn count(&self, is: impl Fn(&Sample) -> bool) -> usize {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().filter(|sample| is(sample)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_were_refused_lately_are_held_back() {
        let samples = Samples::default();
        let since = Instant::now();
        for status in [202, 202, 202, 429, 429] {
            samples.note(Asker::Greedy, Instant::now(), status);
        }
        assert!(samples.is_held_back_since(since, 2));
        assert!(samples.is_held_back_since(since, 3));
        assert!(!samples.is_held_back_since(since, 4));
        assert!(!samples.is_held_back_since(since, 6));
        assert_eq!(samples.accepted(Asker::Greedy, since, Instant::now()), 3);
        assert_eq!(samples.accepted(Asker::Modest, since, Instant::now()), 0);
        assert_eq!(samples.count(|sample| sample.status == 429), 2);
    }
}
