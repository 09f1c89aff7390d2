//! Every load that was offered: when, how it was answered, and how long that took.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chaos::scene::Callers;
use crate::chaos::traffic;
use crate::figures;
use crate::ledger;

#[derive(Debug, Clone)]
pub(super) struct OfferedLoad {
    pub(super) began: Instant,
    pub(super) took: Duration,
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

    pub(super) fn ended(&self) -> Instant {
        self.began + self.took
    }
}

#[derive(Debug, Default)]
pub(super) struct OfferedLoads(Mutex<Vec<OfferedLoad>>);

impl OfferedLoads {
    /// One load, never repeated; what is accepted is written into the ledger.
    /// Says whether it was.
    pub(super) async fn load(&self, callers: &Callers, number: u64) -> bool {
        let which = traffic::organization(callers, number);
        let count = u64::try_from(callers.targets.len()).unwrap_or(1).max(1);
        let place = usize::try_from(number % count).unwrap_or_default();
        let (Some(organization), Some(target)) =
            (callers.organizations.get(which), callers.targets.get(place))
        else {
            return false;
        };
        let mut request = String::new();
        callers.loads.write(&mut request, organization, number);
        let began = Instant::now();
        let sent = target.send(request.as_bytes()).await;
        let took = began.elapsed();
        let answer = match sent {
            Ok(answer) => {
                if let Some(cargo) = answer.cargo().filter(|_| answer.is_success()) {
                    callers.ledger.acknowledge(cargo, which);
                }
                answer.status.to_string()
            }
            Err(error) => ledger::reason(&error),
        };
        let load = OfferedLoad {
            began,
            took,
            answer,
        };
        if !load.is_accepted() {
            callers.ledger.fail(&load.answer);
        }
        let is_accepted = load.is_accepted();
        open(&self.0).push(load);
        is_accepted
    }

    /// Those that began from one moment on and before another.
    pub(super) fn between(&self, from: Instant, before: Instant) -> Vec<OfferedLoad> {
        let loads = open(&self.0);
        let found = loads
            .iter()
            .filter(|load| (from..before).contains(&load.began));
        found.cloned().collect()
    }

    /// Accepted loads a second, by the moment of their answer.
    pub(super) fn goodput(&self, from: Instant, before: Instant) -> f64 {
        let loads = open(&self.0);
        let accepted = loads
            .iter()
            .filter(|load| load.is_accepted() && (from..before).contains(&load.ended()));
        figures::rate(accepted.count(), before - from)
    }
}

/// Milliseconds of those loads that are wanted.
pub(super) fn milliseconds(
    loads: &[OfferedLoad],
    is_wanted: impl Fn(&OfferedLoad) -> bool,
) -> Vec<f64> {
    let wanted = loads.iter().filter(|load| is_wanted(load));
    wanted
        .map(|load| figures::milliseconds(load.took))
        .collect()
}

/// How many were answered how.
pub(super) fn answers(loads: &[OfferedLoad]) -> Value {
    let mut counts = BTreeMap::<&str, u64>::new();
    for load in loads {
        *counts.entry(&load.answer).or_default() += 1;
    }
    json!(counts)
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
