//! A relay in front of PostgreSQL that makes statements fail, hang, or run with their answer
//! lost.
//!
//! It parses the protocol of both sides. So a fault hits a whole statement and the session
//! stays consistent: after an error inside a transaction, the server's transaction has failed
//! too.

mod session;
mod statement;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::Result;
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
    const NAMES: [&'static str; 4] = ["failed", "hung", "answer_lost_silent", "answer_lost_closed"];

    const fn name(self) -> &'static str {
        let [failed, hung, silent, closed] = Self::NAMES;
        match self {
            Self::Fail { .. } | Self::FailAndClose => failed,
            Self::Hang => hung,
            Self::LoseAnswer => silent,
            Self::LoseAnswerAndClose => closed,
        }
    }
}

/// How many statements of each kind were seen, and how many had which fault.
#[derive(Debug, Default)]
pub struct StatementCounts(Mutex<BTreeMap<&'static str, BTreeMap<&'static str, u64>>>);

impl StatementCounts {
    fn record(&self, kind: StatementKind, fault: Option<StatementFault>) {
        let mut counts = self.0.lock();
        let counts = counts.entry(kind.name()).or_default();
        *counts.entry("seen").or_default() += 1;
        if let Some(fault) = fault {
            *counts.entry(fault.name()).or_default() += 1;
        }
    }

    /// The number of statements while faults were on.
    pub fn statements(&self) -> u64 {
        self.sum(|name| name == "seen")
    }

    pub fn faults(&self) -> u64 {
        self.sum(|name| name != "seen")
    }

    fn sum(&self, is_counted: fn(&str) -> bool) -> u64 {
        let counts = self.0.lock();
        let counts = counts.values().flatten();
        counts
            .filter(|(name, _)| is_counted(name))
            .map(|(_, count)| count)
            .sum()
    }

    /// Whether every fault hit statements of this kind.
    pub fn was_hit_with_all(&self, kind: StatementKind) -> bool {
        let counts = self.0.lock();
        let counts = counts.get(kind.name());
        counts.is_some_and(|it| {
            StatementFault::NAMES
                .iter()
                .all(|name| it.contains_key(name))
        })
    }

    /// By kind and fault, for the verdict.
    pub fn figures(&self) -> Value {
        json!(*self.0.lock())
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
