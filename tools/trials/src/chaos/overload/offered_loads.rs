//! Every offered load: when, the response, and how long it took.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::load::callers::ChaosCallers;
use crate::harness::load::load_log;
use crate::harness::load::open_loop;
use crate::harness::lock::lock;
use crate::harness::measurement::statistics;

#[derive(Debug, Clone)]
pub(super) struct OfferedLoad {
    pub(super) began_at: Instant,
    pub(super) duration: Duration,
    /// The status, or why there was none.
    pub(super) answer: String,
}

impl OfferedLoad {
    pub(super) fn is_accepted(&self) -> bool {
        self.answer == "202"
    }

    pub(super) fn is_refused(&self) -> bool {
        self.answer == "503"
    }

    pub(super) fn ended_at(&self) -> Instant {
        self.began_at + self.duration
    }
}

#[derive(Debug, Default)]
pub(super) struct OfferedLoads(Mutex<Vec<OfferedLoad>>);

impl OfferedLoads {
    /// One load, never retried. An accepted one is recorded in the load log. Returns whether it
    /// was.
    pub(super) async fn load(&self, callers: &ChaosCallers, number: u64) -> bool {
        let which = open_loop::organization_index(callers, number);
        let count = u64::try_from(callers.clients.len()).unwrap_or(1).max(1);
        let place = usize::try_from(number % count).unwrap_or_default();
        let (Some(organization), Some(target)) =
            (callers.organizations.get(which), callers.clients.get(place))
        else {
            return false;
        };
        let mut request = String::new();
        callers.requests.write(&mut request, organization, number);
        let began = Instant::now();
        let sent = target.send(request.as_bytes()).await;
        let took = began.elapsed();
        let answer = match sent {
            Ok(answer) => {
                if let Some(cargo) = answer.cargo_id().filter(|_| answer.is_success()) {
                    callers.load_log.acknowledge(cargo, which);
                }
                answer.status.to_string()
            }
            Err(error) => load_log::error_reason(&error),
        };
        let load = OfferedLoad {
            began_at: began,
            duration: took,
            answer,
        };
        if !load.is_accepted() {
            callers.load_log.record_failure(&load.answer);
        }
        let is_accepted = load.is_accepted();
        lock(&self.0).push(load);
        is_accepted
    }

    /// Loads that began in this period.
    pub(super) fn between(&self, from: Instant, before: Instant) -> Vec<OfferedLoad> {
        let loads = lock(&self.0);
        let found = loads
            .iter()
            .filter(|load| (from..before).contains(&load.began_at));
        found.cloned().collect()
    }

    /// Accepted loads per second, by the time of their response.
    pub(super) fn goodput(&self, from: Instant, before: Instant) -> f64 {
        let loads = lock(&self.0);
        let accepted = loads
            .iter()
            .filter(|load| load.is_accepted() && (from..before).contains(&load.ended_at()));
        statistics::rate_per_second(accepted.count(), before - from)
    }
}

/// Milliseconds of the loads that match.
pub(super) fn milliseconds_where(
    loads: &[OfferedLoad],
    is_wanted: impl Fn(&OfferedLoad) -> bool,
) -> Vec<f64> {
    let wanted = loads.iter().filter(|load| is_wanted(load));
    wanted
        .map(|load| statistics::to_milliseconds(load.duration))
        .collect()
}

/// The number of loads for each answer.
pub(super) fn answers_to_json(loads: &[OfferedLoad]) -> Value {
    let mut counts = BTreeMap::<&str, u64>::new();
    for load in loads {
        *counts.entry(&load.answer).or_default() += 1;
    }
    json!(counts)
}
