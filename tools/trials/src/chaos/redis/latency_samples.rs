//! Every request of a run with its time, so that any period can be examined.

use std::sync::Mutex;
use std::time::Instant;

use crate::harness::lock::lock;
use crate::harness::measurement::statistics;

/// Which organization or process a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestSource {
    /// An organization far below its limit.
    WithinLimit,
    /// An organization always at its limit.
    OverLimit,
    /// The same as `WithinLimit`, at a process that never had a Redis: shows how slow the
    /// machine is.
    WithoutRedis,
}

#[derive(Debug, Clone, Copy)]
pub struct LatencySample {
    pub source: RequestSource,
    pub began_at: Instant,
    pub milliseconds: f64,
    /// 0 without a response.
    pub status: u16,
}

#[derive(Debug, Default)]
pub struct LatencySamples(Mutex<Vec<LatencySample>>);

impl LatencySamples {
    /// Records a request that has just ended.
    pub fn record(&self, asker: RequestSource, began: Instant, status: u16) {
        let sample = LatencySample {
            source: asker,
            began_at: began,
            milliseconds: statistics::to_milliseconds(began.elapsed()),
            status,
        };
        let mut samples = lock(&self.0);
        samples.push(sample);
    }

    /// Requests of one source that began in this period.
    pub fn samples_between(
        &self,
        asker: RequestSource,
        from: Instant,
        before: Instant,
    ) -> Vec<LatencySample> {
        let samples = lock(&self.0);
        let found = samples
            .iter()
            .filter(|sample| sample.source == asker)
            .filter(|sample| sample.began_at >= from && sample.began_at < before);
        found.copied().collect()
    }

    pub fn milliseconds(&self, asker: RequestSource, from: Instant, before: Instant) -> Vec<f64> {
        let found = self.samples_between(asker, from, before);
        found.iter().map(|sample| sample.milliseconds).collect()
    }

    pub fn count_accepted(&self, asker: RequestSource, from: Instant, before: Instant) -> usize {
        let found = self.samples_between(asker, from, before);
        found.iter().filter(|sample| sample.status == 202).count()
    }

    /// Whether the latest `refusals` requests over the limit since then were all refused,
    /// except one.
    pub fn is_limited_since(&self, since: Instant, refusals: usize) -> bool {
        let mut latest = self.samples_between(RequestSource::OverLimit, since, Instant::now());
        latest.sort_unstable_by_key(|sample| sample.began_at);
        let latest = latest.iter().rev().take(refusals);
        let statuses: Vec<u16> = latest.map(|sample| sample.status).collect();
        let refused = statuses.iter().filter(|status| **status == 429).count();
        statuses.len() == refusals && refused + 1 >= refusals
    }

    pub fn count(&self, is: impl Fn(&LatencySample) -> bool) -> usize {
        let samples = lock(&self.0);
        samples.iter().filter(|sample| is(sample)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recent_refusals_count_as_limited() {
        let samples = LatencySamples::default();
        let since = Instant::now();
        for status in [202, 202, 202, 429, 429] {
            samples.record(RequestSource::OverLimit, Instant::now(), status);
        }
        assert!(samples.is_limited_since(since, 2));
        assert!(samples.is_limited_since(since, 3));
        assert!(!samples.is_limited_since(since, 4));
        assert!(!samples.is_limited_since(since, 6));
        assert_eq!(
            samples.count_accepted(RequestSource::OverLimit, since, Instant::now()),
            3
        );
        assert_eq!(
            samples.count_accepted(RequestSource::WithinLimit, since, Instant::now()),
            0
        );
        assert_eq!(samples.count(|sample| sample.status == 429), 2);
    }
}
