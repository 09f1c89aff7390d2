//! A burst of loads of one organization, spread over both processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::chaos::process_pair::ProcessPair;
use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::http::load_request::LoadRequests;
use crate::harness::organization::TrialOrganization;

/// Each connection always has one load in flight.
const CONNECTIONS_PER_PROCESS: usize = 64;

/// The responses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LoadBurst {
    pub accepted: u64,
    pub refused: u64,
    /// Anything but 202 and 429.
    pub others: BTreeMap<String, u64>,
    /// From before the first load to after the last response.
    pub elapsed: Duration,
}

/// Sends `count` loads as fast as they are answered, and more if that took less than
/// `at_least`.
pub async fn run_load_burst(
    pair: &Arc<ProcessPair>,
    loads: &Arc<LoadRequests>,
    organization: &TrialOrganization,
    (count, at_least): (u64, Duration),
) -> Result<LoadBurst> {
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for place in 0..pair.clients.len() * CONNECTIONS_PER_PROCESS {
        let (pair, loads, next) = (Arc::clone(pair), Arc::clone(loads), Arc::clone(&next));
        let organization = organization.clone();
        running.spawn(async move {
            let mut seen = LoadBurst::default();
            let mut request = String::new();
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && (number < count || begun.elapsed() < at_least)
                && let Some(target) = pair.clients.get(place % pair.clients.len())
            {
                loads.write(&mut request, &organization, number);
                match target.send(request.as_bytes()).await {
                    Ok(answer) => seen.record(&answer.status.to_string()),
                    Err(error) => seen.record(&error.kind().to_string()),
                }
            }
            seen
        });
    }
    let mut all = LoadBurst::default();
    while let Some(seen) = running.join_next().await {
        let seen = seen.context("loading")?;
        all.accepted += seen.accepted;
        all.refused += seen.refused;
        for (what, times) in seen.others {
            *all.others.entry(what).or_default() += times;
        }
    }
    all.elapsed = begun.elapsed();
    Ok(all)
}

impl LoadBurst {
    fn record(&mut self, what: &str) {
        match what {
            "202" => self.accepted += 1,
            "429" => self.refused += 1,
            other => *self.others.entry(other.to_owned()).or_default() += 1,
        }
    }
}
