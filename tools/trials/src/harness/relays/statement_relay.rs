//! A relay in front of PostgreSQL that makes statements fail, hang, or run with their answer
//! lost.
//!
//! It parses the protocol of both sides. So a fault hits a whole statement and the session
//! stays consistent: after an error inside a transaction, the server's transaction has failed
//! too.

mod session;
mod statement;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;
use session::RelaySession;
pub use statement::StatementKind;

/// Codes for which a client may retry.
const SQLSTATES: [&str; 4] = ["57014", "40001", "XX000", "53200"];
/// Percent of errors that also end the session, as an administrator's command does.
const FATAL_PERCENT: u32 = 20;

/// What happens to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFault {
    /// It does not run; the answer is an error.
    Fail { sqlstate: &'static str },
    /// It does not run; the answer is an error, and the session ends.
    FailAndClose,
    /// It does not run and is never answered; the connection stays open.
    Hang,
    /// It runs; then the connection stays silent.
    LoseAnswer,
    /// It runs; then the connection closes.
    LoseAnswerAndClose,
}

impl StatementFault {
    const ALL: [&'static str; 4] = ["failed", "hung", "answer_lost_silent", "answer_lost_closed"];

    const fn index(self) -> usize {
        match self {
            Self::Fail { .. } | Self::FailAndClose => 0,
            Self::Hang => 1,
            Self::LoseAnswer => 2,
            Self::LoseAnswerAndClose => 3,
        }
    }
}

/// How many statements had which fault, by their kind.
#[derive(Debug, Default)]
pub struct StatementCounts {
    seen: [AtomicU64; StatementKind::ALL.len()],
    faults: [[AtomicU64; StatementFault::ALL.len()]; StatementKind::ALL.len()],
}

impl StatementCounts {
    fn record(&self, kind: StatementKind, fault: Option<StatementFault>) {
        if let Some(seen) = self.seen.get(kind.index()) {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        let faults = self.faults.get(kind.index());
        if let Some(fault) = fault
            && let Some(count) = faults.and_then(|faults| faults.get(fault.index()))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of statements while faults were on.
    pub fn statements(&self) -> u64 {
        let seen = self.seen.iter();
        seen.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub fn faults(&self) -> u64 {
        let counts = self.faults.iter().flatten();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Whether every fault hit statements of this kind.
    pub fn was_hit_with_all(&self, kind: StatementKind) -> bool {
        let faults = self.faults.get(kind.index());
        faults.is_some_and(|faults| faults.iter().all(|count| count.load(Ordering::Relaxed) > 0))
    }

    /// By kind and fault, for the verdict.
    pub fn figures(&self) -> Value {
        let kinds = StatementKind::ALL.iter().zip(&self.seen).zip(&self.faults);
        let kinds = kinds.map(|((kind, seen), faults)| {
            let mut figures = Map::new();
            figures.insert("seen".to_owned(), json!(seen.load(Ordering::Relaxed)));
            for (name, count) in StatementFault::ALL.iter().zip(faults) {
                figures.insert((*name).to_owned(), json!(count.load(Ordering::Relaxed)));
            }
            (kind.name().to_owned(), Value::Object(figures))
        });
        Value::Object(kinds.collect())
    }
}

/// What all sessions share.
#[derive(Debug)]
struct RelayShared {
    is_faulty: AtomicBool,
    /// Percent of statements with a fault.
    percent: u32,
    counts: StatementCounts,
}

/// Relays until it is dropped.
#[derive(Debug)]
pub struct StatementRelay {
    pub address: SocketAddr,
    shared: Arc<RelayShared>,
    _serving: JoinSet<()>,
}

impl StatementRelay {
    /// Relays everything until faults are on. Each session draws from the seed and its number.
    pub async fn start(server: SocketAddr, percent: u32, seed: u64) -> Result<Self> {
        let shared = Arc::new(RelayShared {
            is_faulty: AtomicBool::new(false),
            percent,
            counts: StatementCounts::default(),
        });
        let mut seeds = (0..).map(move |number| seed.wrapping_mul(1_000_003).wrapping_add(number));
        let ours = Arc::clone(&shared);
        let relay = move |client| {
            let faults = FaultDraws {
                shared: Arc::clone(&ours),
                random: StdRng::seed_from_u64(seeds.next().unwrap_or_default()),
            };
            async move {
                // A session ends in many ways; none of them is an error of the relay.
                if let Ok(Some(mut session)) = RelaySession::open(client, server, faults).await {
                    let _ = session.run().await;
                }
            }
        };
        let (address, serving) = listener::serve_on_free_port("a statement relay", relay).await?;
        Ok(Self {
            address,
            shared,
            _serving: serving,
        })
    }

    pub fn set_faulty(&self, is_faulty: bool) {
        self.shared.is_faulty.store(is_faulty, Ordering::Relaxed);
    }

    pub fn counts(&self) -> &StatementCounts {
        &self.shared.counts
    }
}

/// The random faults of one session.
#[derive(Debug)]
struct FaultDraws {
    shared: Arc<RelayShared>,
    random: StdRng,
}

impl FaultDraws {
    fn draw(&mut self, kind: StatementKind) -> Option<StatementFault> {
        if !self.shared.is_faulty.load(Ordering::Relaxed) {
            return None;
        }
        let is_hit = self.random.random_range(0..100) < self.shared.percent;
        let fault = is_hit.then(|| match self.random.random_range(0..6) {
            0 | 1 => self.draw_failure(),
            2 | 3 => StatementFault::Hang,
            4 => StatementFault::LoseAnswer,
            _ => StatementFault::LoseAnswerAndClose,
        });
        self.shared.counts.record(kind, fault);
        fault
    }

    fn draw_failure(&mut self) -> StatementFault {
        if self.random.random_range(0..100) < FATAL_PERCENT {
            return StatementFault::FailAndClose;
        }
        let place = self.random.random_range(0..SQLSTATES.len());
        let sqlstate = SQLSTATES.get(place).copied().unwrap_or("XX000");
        StatementFault::Fail { sqlstate }
    }
}
