//! A closed-loop load generator: a fixed number of connections with one load in flight each.

mod fast_connection;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::harness::build_profile;
use crate::harness::measurement::statistics;
use crate::harness::{
    CallbackReceipts, FailureContext as _, LoadRequests, Result, TrialOrganization, TrialVerdict,
};
use fast_connection::{FastConnection, ParsedResponse};

/// How long a connection waits while enough cargo are in flight.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// How long the last answers may take after the end of a round.
const LAST_RESPONSE_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(30));

/// What all connections share.
#[derive(Debug)]
pub struct ClosedLoopLoader {
    pub address: SocketAddr,
    pub organizations: Vec<TrialOrganization>,
    pub loads: LoadRequests,
    /// Never reset, so that no body is sent twice.
    pub next_number: AtomicU64,
    pub accepted: AtomicU64,
    /// Loading pauses while this many accepted cargo have no callback yet.
    pub in_flight_limit: Option<(u64, Arc<CallbackReceipts>)>,
}

/// The results of all connections in one round.
#[derive(Debug, Default)]
pub struct LoadRound {
    pub accepted: usize,
    pub milliseconds: Vec<f64>,
    pub failures: BTreeMap<String, u64>,
    pub seconds: f64,
}

/// No load fails at any speed. How many are refused with 503 depends on the speed of the machine.
pub fn judge_failures(verdict: &mut TrialVerdict, failures: &BTreeMap<String, u64>) {
    let refused = failures.get("503").copied().unwrap_or_default();
    let failed = failures.values().sum::<u64>() - refused;
    verdict
        .check("no failed load", failed == 0)
        .check_figure("no refused load", refused == 0);
}

impl LoadRound {
    pub fn loads_per_second(&self) -> f64 {
        statistics::rate_per_second(self.accepted, Duration::from_secs_f64(self.seconds))
    }
}

/// Loads on `connections` connections for `length`.
pub async fn run(
    loader: &Arc<ClosedLoopLoader>,
    connections: usize,
    length: Duration,
) -> Result<LoadRound> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..connections {
        running.spawn(run_connection(Arc::clone(loader), begun + length));
    }
    let mut round = LoadRound::default();
    let latest = tokio::time::Instant::from_std(begun + length + LAST_RESPONSE_TIMEOUT);
    while let Some(one) = tokio::time::timeout_at(latest, running.join_next())
        .await
        .context("waiting for responses")?
    {
        round.merge(one.context("loading")?);
    }
    round.seconds = begun.elapsed().as_secs_f64();
    Ok(round)
}

async fn run_connection(loader: Arc<ClosedLoopLoader>, until: Instant) -> LoadRound {
    let mut round = LoadRound::default();
    let mut request = String::with_capacity(2048);
    let mut kept = None;
    while Instant::now() < until {
        if loader.is_at_in_flight_limit() {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        }
        loader.write_next(&mut request);
        let began = Instant::now();
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => match FastConnection::open(loader.address).await {
                Ok(connection) => connection,
                Err(error) => {
                    round.record_failure(error.kind().to_string());
                    tokio::time::sleep(RETRY_DELAY).await;
                    continue;
                }
            },
        };
        match connection.exchange(request.as_bytes()).await {
            Ok(ParsedResponse {
                status: 202,
                closes_connection: closes,
            }) => {
                loader.accepted.fetch_add(1, Ordering::Relaxed);
                round.accepted += 1;
                round
                    .milliseconds
                    .push(statistics::to_milliseconds(began.elapsed()));
                kept = (!closes).then_some(connection);
            }
            Ok(reply) => {
                round.record_failure(reply.status.to_string());
                kept = (!reply.closes_connection).then_some(connection);
            }
            Err(error) => round.record_failure(error.kind().to_string()),
        }
    }
    round
}

impl ClosedLoopLoader {
    /// A loader without an in-flight limit.
    pub fn new(
        address: SocketAddr,
        organizations: Vec<TrialOrganization>,
        loads: LoadRequests,
    ) -> Self {
        Self {
            address,
            organizations,
            loads,
            next_number: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            in_flight_limit: None,
        }
    }

    fn is_at_in_flight_limit(&self) -> bool {
        self.in_flight_limit
            .as_ref()
            .is_some_and(|(most, receipts)| {
                self.accepted
                    .load(Ordering::Relaxed)
                    .saturating_sub(receipts.count_cargo())
                    >= *most
            })
    }

    fn write_next(&self, request: &mut String) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let turn = usize::try_from(number).unwrap_or_default() % self.organizations.len().max(1);
        if let Some(organization) = self.organizations.get(turn) {
            self.loads.write(request, organization, number);
        }
    }
}

impl LoadRound {
    pub fn merge(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.milliseconds.extend(other.milliseconds);
        for (reason, count) in other.failures {
            *self.failures.entry(reason).or_default() += count;
        }
    }

    fn record_failure(&mut self, reason: String) {
        *self.failures.entry(reason).or_default() += 1;
    }
}
