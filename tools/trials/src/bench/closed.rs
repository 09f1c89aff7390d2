//! A fixed number of connections, each with one load at a time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::connection::{Connection, Reply};
use crate::failure::{During as _, Result};
use crate::figures;
use crate::organization::Organization;
use crate::receiver::Receipts;
use crate::request::Loads;

/// How long a connection looks away while enough cargo are on their way.
const PAUSE: Duration = Duration::from_millis(10);

/// How long after the end of a round the last answers may come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all connections share.
#[derive(Debug)]
pub struct Loader {
    pub address: SocketAddr,
    pub organizations: Vec<Organization>,
    pub loads: Loads,
    /// No body is sent twice, in no round.
    pub next: AtomicU64,
    pub accepted: AtomicU64,
    /// Loading pauses while so many of the accepted have not come back.
    pub bound: Option<(u64, Arc<Receipts>)>,
}

/// What the connections of one round saw together.
#[derive(Debug, Default)]
pub struct Round {
    pub accepted: usize,
    pub milliseconds: Vec<f64>,
    pub failures: BTreeMap<String, u64>,
    pub seconds: f64,
}

impl Round {
    pub fn rate(&self) -> f64 {
        figures::rate(self.accepted, Duration::from_secs_f64(self.seconds))
    }
}

/// Loads on `connections` connections for so long.
pub async fn run(loader: &Arc<Loader>, connections: usize, length: Duration) -> Result<Round> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..connections {
        running.spawn(one_connection(Arc::clone(loader), begun + length));
    }
    let mut round = Round::default();
    let latest = tokio::time::Instant::from_std(begun + length + PATIENCE);
    while let Some(one) = tokio::time::timeout_at(latest, running.join_next())
        .await
        .during("waiting for answers")?
    {
        let one = one.during("loading")?;
        round.accepted += one.accepted;
        round.milliseconds.extend(one.milliseconds);
        for (reason, count) in one.failures {
            *round.failures.entry(reason).or_default() += count;
        }
    }
    round.seconds = begun.elapsed().as_secs_f64();
    Ok(round)
}

async fn one_connection(loader: Arc<Loader>, until: Instant) -> Round {
    let mut round = Round::default();
    let mut request = String::with_capacity(2048);
    let mut kept = None;
    while Instant::now() < until {
        if loader.has_enough_under_way() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        loader.write_next(&mut request);
        let began = Instant::now();
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => match Connection::open(loader.address).await {
                Ok(connection) => connection,
                Err(error) => {
                    round.fail(error.kind().to_string());
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        match connection.exchange(request.as_bytes()).await {
            Ok(Reply {
                status: 202,
                closes,
                ..
            }) => {
                loader.accepted.fetch_add(1, Ordering::Relaxed);
                round.accepted += 1;
                round
                    .milliseconds
                    .push(figures::milliseconds(began.elapsed()));
                kept = (!closes).then_some(connection);
            }
            Ok(reply) => {
                round.fail(reply.status.to_string());
                kept = (!reply.closes).then_some(connection);
            }
            Err(error) => round.fail(error.kind().to_string()),
        }
    }
    round
}

impl Loader {
    /// A loader without a bound.
    pub fn new(address: SocketAddr, organizations: Vec<Organization>, loads: Loads) -> Self {
        Self {
            address,
            organizations,
            loads,
            next: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            bound: None,
        }
    }

    fn has_enough_under_way(&self) -> bool {
        self.bound.as_ref().is_some_and(|(most, receipts)| {
            self.accepted
                .load(Ordering::Relaxed)
                .saturating_sub(receipts.cargo())
                >= *most
        })
    }

    fn write_next(&self, request: &mut String) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = usize::try_from(number).unwrap_or_default() % self.organizations.len().max(1);
        if let Some(organization) = self.organizations.get(turn) {
            self.loads.write(request, organization, number);
        }
    }
}

impl Round {
    fn fail(&mut self, reason: String) {
        *self.failures.entry(reason).or_default() += 1;
    }
}
