//! A relay in front of PostgreSQL that makes statements fail, hang, or run with their answer lost.
//!
//! It reads the protocol of both sides, so that a fault hits a whole statement and the
//! session stays consistent: after an error inside a transaction the server's transaction
//! has failed too.

mod session;
mod statement;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::{During as _, Result};
use crate::port;
use session::Session;
pub use statement::StatementKind;

/// Codes that look as if another try may go well.
const SQLSTATES: [&str; 4] = ["57014", "40001", "XX000", "53200"];
/// Of a hundred errors so many also end the session, as an administrator's command does.
const FATAL_PERCENT: u32 = 20;

/// What happens to a statement instead of being passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFault {
    /// It is not run, and answered with an error.
    Fail { sqlstate: &'static str },
    /// It is not run, answered with an error, and the session ends.
    FailAndClose,
    /// It is not run and never answered; the connection stays open.
    Hang,
    /// It is run; then the connection is silent for good.
    LoseAnswer,
    /// It is run; then the connection is closed.
    LoseAnswerAndClose,
}

impl StatementFault {
    const ALL: [&'static str; 4] = ["failed", "hung", "answer_lost_silent", "answer_lost_closed"];

    const fn place(self) -> usize {
        match self {
            Self::Fail { .. } | Self::FailAndClose => 0,
            Self::Hang => 1,
            Self::LoseAnswer => 2,
            Self::LoseAnswerAndClose => 3,
        }
    }
}

/// What was done to how many statements, by their kind.
#[derive(Debug, Default)]
pub struct StatementCounts {
    seen: [AtomicU64; StatementKind::ALL.len()],
    faults: [[AtomicU64; StatementFault::ALL.len()]; StatementKind::ALL.len()],
}

impl StatementCounts {
    fn note(&self, kind: StatementKind, fault: Option<StatementFault>) {
        if let Some(seen) = self.seen.get(kind.place()) {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        let faults = self.faults.get(kind.place());
        if let Some(fault) = fault
            && let Some(count) = faults.and_then(|faults| faults.get(fault.place()))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many statements there were while faults were on.
    pub fn statements(&self) -> u64 {
        let seen = self.seen.iter();
        seen.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub fn faults(&self) -> u64 {
        let counts = self.faults.iter().flatten();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Faults of every sort hit statements of this kind.
    pub fn hit_with_all(&self, kind: StatementKind) -> bool {
        let faults = self.faults.get(kind.place());
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
struct Shared {
    is_faulty: AtomicBool,
    /// Of a hundred statements so many are hit.
    percent: u32,
    counts: StatementCounts,
}

/// Relays until it is dropped.
#[derive(Debug)]
pub struct StatementRelay {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl StatementRelay {
    /// Passes everything on until it is told otherwise. Each session draws from the seed
    /// and its number.
    pub async fn start(server: SocketAddr, percent: u32, seed: u64) -> Result<Self> {
        let address = port::free()?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.during("starting a relay of statements")?;
        let shared = Arc::new(Shared {
            is_faulty: AtomicBool::new(false),
            percent,
            counts: StatementCounts::default(),
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, server, Arc::clone(&shared), seed));
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

async fn serve(listener: TcpListener, server: SocketAddr, shared: Arc<Shared>, seed: u64) {
    let mut sessions = JoinSet::new();
    for number in 0.. {
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        while sessions.try_join_next().is_some() {}
        let faults = Faults {
            shared: Arc::clone(&shared),
            random: StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(number)),
        };
        sessions.spawn(async move {
            // A session that breaks off has ended, however it did.
            if let Ok(Some(mut session)) = Session::open(client, server, faults).await {
                let _ = session.run().await;
            }
        });
    }
}

/// Chance, as one session meets it.
#[derive(Debug)]
struct Faults {
    shared: Arc<Shared>,
    random: StdRng,
}

impl Faults {
    fn draw(&mut self, kind: StatementKind) -> Option<StatementFault> {
        if !self.shared.is_faulty.load(Ordering::Relaxed) {
            return None;
        }
        let is_hit = self.random.random_range(0..100) < self.shared.percent;
        let fault = is_hit.then(|| match self.random.random_range(0..6) {
            0 | 1 => self.failure(),
            2 | 3 => StatementFault::Hang,
            4 => StatementFault::LoseAnswer,
            _ => StatementFault::LoseAnswerAndClose,
        });
        self.shared.counts.note(kind, fault);
        fault
    }

    fn failure(&mut self) -> StatementFault {
        if self.random.random_range(0..100) < FATAL_PERCENT {
            return StatementFault::FailAndClose;
        }
        let place = self.random.random_range(0..SQLSTATES.len());
        let sqlstate = SQLSTATES.get(place).copied().unwrap_or("XX000");
        StatementFault::Fail { sqlstate }
    }
}
