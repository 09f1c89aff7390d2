//! A burst of loads of one organization, spread over both processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::chaos::process_pair::ProcessPair;
use crate::harness::build_profile;
use crate::harness::load::load_log;
use crate::harness::{
    FailureContext as _, LoadLog, LoadRecord, LoadRequests, LoadSource, Result, TrialOrganization,
};

/// Each connection always has one load in flight. A debug build must not be overloaded.
const CONNECTIONS_PER_PROCESS: usize = build_profile::choose(16, 64);

/// The responses.
#[derive(Debug)]
pub struct LoadBurst {
    pub accepted: usize,
    pub refused: usize,
    /// Loads that got a token and then 503.
    pub unavailable: usize,
    /// Anything but 202 and 429.
    pub others: Value,
    /// No answer but 202, 429 and 503.
    pub only_expected: bool,
    /// From before the first load to after the last response.
    pub elapsed: Duration,
}

/// Sends `count` loads as fast as they are answered, and more if that took less than
/// `at_least`.
pub async fn run_load_burst(
    pair: &Arc<ProcessPair>,
    loads: &Arc<LoadRequests>,
    organization: &TrialOrganization,
    count: u64,
    at_least: Duration,
) -> Result<LoadBurst> {
    let (next, log) = (Arc::new(AtomicU64::new(0)), Arc::new(LoadLog::default()));
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for place in 0..pair.clients.len() * CONNECTIONS_PER_PROCESS {
        let (pair, loads, next) = (Arc::clone(pair), Arc::clone(loads), Arc::clone(&next));
        let (organization, log) = (organization.clone(), Arc::clone(&log));
        running.spawn(async move {
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && (number < count || begun.elapsed() < at_least)
                && let Some(client) = pair.clients.get(place % pair.clients.len())
            {
                let request = loads.build(&organization, number);
                log.send(client, request, LoadSource::default()).await;
            }
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.context("loading")?;
    }
    let is_limited = |load: &LoadRecord| load.answer == "429";
    let others = log.select(|it| !it.is_accepted() && !is_limited(it));
    Ok(LoadBurst {
        accepted: log.count(LoadRecord::is_accepted),
        refused: log.count(is_limited),
        unavailable: log.count(LoadRecord::is_refused),
        others: load_log::count_answers(&others),
        only_expected: others.iter().all(LoadRecord::is_refused),
        elapsed: begun.elapsed(),
    })
}
