//! Every load of a trial: when it was sent, how long it took, and how it was answered.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::measurement::statistics;
use crate::harness::{HttpRequest, HttpResponse, ServiceClient, TrialVerdict};

/// What a load belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadSource {
    /// The index of its organization.
    pub organization: usize,
    /// The index of the client that sent it.
    pub client: Option<usize>,
    /// Its model, or the part of the trial that sent it.
    pub label: &'static str,
}

impl LoadSource {
    pub fn of_organization(organization: usize) -> Self {
        Self {
            organization,
            ..Self::default()
        }
    }

    pub fn labelled(label: &'static str) -> Self {
        Self {
            label,
            ..Self::default()
        }
    }
}

/// A load that has ended.
#[derive(Debug, Clone)]
pub struct LoadRecord {
    pub source: LoadSource,
    pub began_at: Instant,
    pub duration: Duration,
    /// The status, or why there was none.
    pub answer: String,
    /// The cargo, if the load was acknowledged.
    pub cargo: Option<u128>,
}

impl LoadRecord {
    /// A load that has just ended.
    pub fn new(
        source: LoadSource,
        began_at: Instant,
        sent: std::result::Result<&HttpResponse, &io::Error>,
    ) -> Self {
        let cargo = sent.ok().filter(|it| it.is_success());
        let cargo = cargo.and_then(HttpResponse::cargo_id);
        let answer = match sent {
            Ok(it) if it.is_success() && cargo.is_none() => "2xx without a cargo_id".to_owned(),
            Ok(it) => it.status.to_string(),
            Err(error) => error_reason(error),
        };
        Self {
            source,
            began_at,
            duration: began_at.elapsed(),
            answer,
            cargo,
        }
    }

    pub fn is_accepted(&self) -> bool {
        self.answer == "202"
    }

    /// Refused because of overload.
    pub fn is_refused(&self) -> bool {
        self.answer == "503"
    }

    /// Neither accepted, nor refused with 503, which depends on the speed of the machine.
    pub fn has_failed(&self) -> bool {
        self.cargo.is_none() && !self.is_refused() && self.answer != NO_PROCESS_READY
    }

    pub fn ended_at(&self) -> Instant {
        self.began_at + self.duration
    }
}

/// Why a load was not sent: the load balancer considered no process ready.
pub const NO_PROCESS_READY: &str = "no process was ready";

#[derive(Debug, Default)]
pub struct LoadLog(Mutex<Vec<LoadRecord>>);

impl LoadLog {
    /// Sends one load, never retried, and records it.
    pub async fn send(
        &self,
        client: &ServiceClient,
        request: HttpRequest,
        source: LoadSource,
    ) -> LoadRecord {
        let began_at = Instant::now();
        let sent = client.send(request).await;
        let record = LoadRecord::new(source, began_at, sent.as_ref());
        self.record(record.clone());
        record
    }

    /// The same with an idempotency key: the load is repeated while it is answered with 503.
    pub async fn send_repeatedly(
        &self,
        client: &ServiceClient,
        request: HttpRequest,
        source: LoadSource,
    ) -> LoadRecord {
        let began_at = Instant::now();
        let sent = client.send_load(request).await;
        let record = LoadRecord::new(source, began_at, sent.as_ref());
        self.record(record.clone());
        record
    }

    pub fn record(&self, record: LoadRecord) {
        self.0.lock().push(record);
    }

    /// Records a load that was not sent, because no process was ready.
    pub fn record_unsent(&self) {
        self.record(LoadRecord {
            source: LoadSource::default(),
            began_at: Instant::now(),
            duration: Duration::ZERO,
            answer: NO_PROCESS_READY.to_owned(),
            cargo: None,
        });
    }

    /// The loads that match.
    pub fn select(&self, is_wanted: impl Fn(&LoadRecord) -> bool) -> Vec<LoadRecord> {
        let records = self.0.lock();
        let found = records.iter().filter(|record| is_wanted(record));
        found.cloned().collect()
    }

    /// Loads that began in this period.
    pub fn between(&self, from: Instant, before: Instant) -> Vec<LoadRecord> {
        self.select(|record| (from..before).contains(&record.began_at))
    }

    /// Acknowledged loads, by their cargo.
    pub fn acknowledged(&self) -> HashMap<u128, LoadRecord> {
        let records = self.0.lock();
        let found = records.iter();
        found
            .filter_map(|record| Some((record.cargo?, record.clone())))
            .collect()
    }

    pub fn count(&self, is_wanted: impl Fn(&LoadRecord) -> bool) -> usize {
        let records = self.0.lock();
        records.iter().filter(|record| is_wanted(record)).count()
    }

    /// The acknowledged load that ended last.
    pub fn newest_acknowledged(&self) -> Option<LoadRecord> {
        let records = self.0.lock();
        records.iter().rev().find(|it| it.cargo.is_some()).cloned()
    }

    /// Loads that were not acknowledged.
    pub fn count_failures(&self) -> usize {
        self.count(|record| record.cargo.is_none())
    }

    pub fn failures_by_reason(&self) -> Value {
        count_answers(&self.select(|record| record.cargo.is_none()))
    }

    /// Milliseconds of the accepted loads that began in this period.
    pub fn accepted_milliseconds(&self, from: Instant, before: Instant) -> Vec<f64> {
        milliseconds_where(&self.between(from, before), LoadRecord::is_accepted)
    }

    /// Loads without any fault: none fails at any speed, and the machine is fast enough that none
    /// is refused.
    pub fn judge_acceptance(&self, verdict: &mut TrialVerdict) {
        let failed = self.count(LoadRecord::has_failed);
        let refused = self.count_failures() - failed;
        verdict
            .record("failed", failed)
            .record("refused", refused)
            .check(
                "some loads are accepted",
                self.count(LoadRecord::is_accepted) > 0,
            )
            .check("no failed load", failed == 0)
            .check_figure("no refused load", refused == 0);
    }

    /// Accepted loads per second, by the time of their response.
    pub fn goodput(&self, from: Instant, before: Instant) -> f64 {
        let accepted = self.count(|it| it.is_accepted() && (from..before).contains(&it.ended_at()));
        statistics::rate_per_second(accepted, before - from)
    }
}

/// Milliseconds of the loads that match.
pub fn milliseconds_where(
    loads: &[LoadRecord],
    is_wanted: impl Fn(&LoadRecord) -> bool,
) -> Vec<f64> {
    let wanted = loads.iter().filter(|load| is_wanted(load));
    wanted
        .map(|load| statistics::to_milliseconds(load.duration))
        .collect()
}

/// The number of loads for each answer.
pub fn count_answers(loads: &[LoadRecord]) -> Value {
    let mut counts = BTreeMap::<&str, u64>::new();
    for load in loads {
        *counts.entry(&load.answer).or_default() += 1;
    }
    json!(counts)
}

/// The kind of a connection error, so that errors can be counted.
pub fn error_reason(error: &io::Error) -> String {
    error.kind().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_load_has_not_failed() {
        let log = LoadLog::default();
        for (answer, cargo) in [("202", Some(1)), ("503", None)] {
            log.record(LoadRecord {
                source: LoadSource::default(),
                began_at: Instant::now(),
                duration: Duration::ZERO,
                answer: answer.to_owned(),
                cargo,
            });
        }
        log.record_unsent();
        let mut verdict = TrialVerdict::new("chaos restart").judging_figures(false);
        log.judge_acceptance(&mut verdict);
        assert!(verdict.is_ok());
        for answer in ["500", "connection reset", "2xx without a cargo_id"] {
            log.record(LoadRecord {
                source: LoadSource::default(),
                began_at: Instant::now(),
                duration: Duration::ZERO,
                answer: answer.to_owned(),
                cargo: None,
            });
        }
        assert_eq!(log.count(LoadRecord::has_failed), 3);
        log.judge_acceptance(&mut verdict);
        assert!(!verdict.is_ok());
    }
}
