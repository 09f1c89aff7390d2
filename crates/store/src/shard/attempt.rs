//! The log of callback attempts, and what each one changes.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::callback_health::{self, Attempts, Class, Ending};
use domain::id::CargoId;
use domain::time::Timestamp;
use domain::usage::{Counted, Event, Tally, Work};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::attempt::ends::{delivered_again, end, leave_be, put_off};
use crate::shard::attempt::log::log;
use crate::shard::node::Claim;
use crate::shard::trouble::{self, Kind, Troubles};
use crate::shard::usage;

mod ends;

mod log;

mod set_aside;

pub use set_aside::{SetAside, set_aside};

/// How a callback stands when it has ended, and what is counted then.
const DELIVERED: (&str, Event) = ("delivered", Event::Delivered);
const GIVEN_UP: (&str, Event) = ("failed", Event::CallbackFailed);

/// An attempt that ended.
#[derive(Debug, Clone)]
pub struct Ended {
    pub cargo: CargoId,
    pub number: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// From the first byte to the last, without the time until it was written down.
    pub took: Duration,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub answer: Vec<u8>,
    pub verdict: Verdict,
}

/// What an attempt comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Delivered,
    TryAgain {
        due_at: Timestamp,
    },
    GivenUp,
    /// Somebody asked for it again, and it was acknowledged.
    DeliveredAgain,
    /// Somebody asked for it again, in vain: how it stood before, it stands.
    LeftAsItWas,
}

impl Verdict {
    const fn is_resend(self) -> bool {
        matches!(self, Self::DeliveredAgain | Self::LeftAsItWas)
    }

    const fn is_delivered(self) -> bool {
        matches!(self, Self::Delivered | Self::DeliveredAgain)
    }
}

/// A callback whose attempt was ours to end.
struct Called {
    cargo: Uuid,
    project: Uuid,
    host: String,
    /// If it is news how the callback stands.
    counted: Option<Counted>,
}

/// Whether attempts get rows of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Write,
    Skip,
}

/// Writes what ended; attempts whose claim was lost are passed over, for they will be repeated.
pub async fn record(
    shard: &Shard,
    claim: Claim,
    ended: &[Ended],
    now: Timestamp,
) -> Result<u64, Error> {
    write(shard, claim, ended, Log::Write, now).await
}

async fn write(
    shard: &Shard,
    claim: Claim,
    ended: &[Ended],
    rows: Log,
    now: Timestamp,
) -> Result<u64, Error> {
    let mut tx = shard.begin().await?;
    let mut ours: HashMap<Uuid, Called> = HashMap::with_capacity(ended.len());
    let mut changes = Changes::default();
    for (verdict, cargo) in alike(ended) {
        let called = match verdict {
            Verdict::TryAgain { due_at } => put_off(&mut tx, claim, &cargo, due_at).await?,
            Verdict::Delivered => end(&mut tx, claim, &cargo, DELIVERED, now).await?,
            Verdict::GivenUp => end(&mut tx, claim, &cargo, GIVEN_UP, now).await?,
            Verdict::DeliveredAgain => delivered_again(&mut tx, claim, &cargo, now).await?,
            Verdict::LeftAsItWas => leave_be(&mut tx, claim, &cargo).await?,
        };
        for called in called {
            changes.add(verdict, &called);
            ours.insert(called.cargo, called);
        }
    }
    let mut health = callback_health::Tally::default();
    let mut logged = Vec::with_capacity(ours.len());
    for attempt in ended {
        if let Some(called) = ours.get(&attempt.cargo.uuid()) {
            health.count(attempt.counted(called));
            logged.push(attempt);
        }
    }
    if rows == Log::Write {
        log(&mut tx, &logged, &health, now).await?;
    }
    changes.write(&mut tx, now).await?;
    tx.commit().await?;
    Ok(u64::try_from(ours.len()).unwrap_or_default())
}

/// Cargo of the same verdict change in one statement.
fn alike(ended: &[Ended]) -> BTreeMap<Verdict, Vec<Uuid>> {
    let mut alike: BTreeMap<Verdict, Vec<Uuid>> = BTreeMap::new();
    for attempt in ended {
        let cargo = alike.entry(attempt.verdict).or_default();
        cargo.push(attempt.cargo.uuid());
    }
    alike
}

impl Ended {
    fn counted(&self, called: &Called) -> Attempts {
        Attempts {
            project: called.project.into(),
            host: called.host.clone(),
            ending: Ending::of(self.status, self.verdict.is_delivered()),
            class: Class::of(self.took),
        }
    }
}

/// What the attempts of a group change beside their own rows.
#[derive(Default)]
struct Changes {
    tally: Tally,
    troubles: Troubles,
    mended: Vec<(Uuid, Uuid)>,
}

impl Changes {
    fn add(&mut self, verdict: Verdict, called: &Called) {
        let Some(what) = &called.counted else {
            return;
        };
        self.tally.count(what.clone(), Work::default());
        match verdict {
            Verdict::GivenUp => {
                let (project, host) = (called.project, called.host.clone());
                self.troubles.add(project, called.cargo, host);
            }
            Verdict::DeliveredAgain => self.mended.push((called.project, called.cargo)),
            Verdict::Delivered | Verdict::TryAgain { .. } | Verdict::LeftAsItWas => {}
        }
    }

    async fn write(self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        usage::append(tx, &self.tally, now).await?;
        self.troubles.note(tx, Kind::CallbackFailed).await?;
        trouble::forget_callbacks(tx, &self.mended).await
    }
}
