//! The only crate that knows SQL: the rows of control and of each shard.
//!
//! Every statement is checked against the schema when this crate is compiled.
//! Time is an argument; only leases are kept by the server's own clock.

use std::sync::Arc;

use domain::time::Clock;

pub mod body;

pub mod control;

pub mod doctor;

mod error;

pub mod migrate;

mod number;

pub mod pool;

pub mod shard;

pub mod turns;

pub mod view;

pub use error::Error;
pub use pool::{Class, Pool, PoolOptions, Session, Transaction};

use turns::Turns;

/// Groups of loads are written on these: two writers, each with a patient one beside it.
const WRITER_CONNECTIONS: usize = 4;

/// How many groups of outcomes a process stores in a shard at once. Each locks the accounts of all
/// its organizations in order: with many, everyone waits in a row behind the slowest.
const OUTCOME_GROUPS: usize = 2;

/// What a process opens on a shard beside its pool: writers, the lease, and the cleanup of dead nodes.
pub const EXTRA_CONNECTIONS: usize = WRITER_CONNECTIONS + 2;

/// Organizations, projects, keys and the map of berths.
#[derive(Debug, Clone)]
pub struct Control {
    pub pool: Pool,
}

/// One data shard: everything of the organizations whose berths lie there.
#[derive(Debug)]
pub struct Shard {
    pub name: Arc<str>,
    /// What stages and routes do.
    pub pool: Pool,
    /// Sweeps, folds and audits: statements that may take long.
    pub background: Pool,
    /// Tracking and pages.
    pub reads: Pool,
    /// Groups of loads.
    pub writers: Pool,
    /// The lease of this process, on a connection of its own.
    pub lease: Pool,
    /// Freeing what dead nodes had claimed.
    pub cleanup: Pool,
    pub clock: Arc<dyn Clock>,
    /// Groups of outcomes that are being stored.
    pub outcome_groups: Turns,
}

impl Control {
    pub fn connect_lazily(url: &str, connections: u32) -> Result<Self, Error> {
        Self::new(url, &options(connections))
    }

    pub fn new(url: &str, options: &PoolOptions) -> Result<Self, Error> {
        Ok(Self {
            pool: Pool::new(url, Class::Control, options.clone())?,
        })
    }

    /// For a command that an operator waits for: its statements may take long.
    #[must_use]
    pub fn patient(self) -> Self {
        Self {
            pool: self.pool.with_class(Class::Operator),
        }
    }
}

impl Shard {
    pub fn connect_lazily(
        name: &str,
        url: &str,
        connections: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        Self::new(name, url, &options(connections), clock)
    }

    pub fn new(
        name: &str,
        url: &str,
        options: &PoolOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let pool = Pool::new(url, Class::Stage, options.clone())?;
        let own = |class, connections| {
            let options = options.clone();
            Pool::new(
                url,
                class,
                PoolOptions {
                    connections,
                    ..options
                },
            )
        };
        Ok(Self {
            name: name.into(),
            background: pool.with_class(Class::Background),
            reads: pool.with_class(Class::Read),
            pool,
            writers: own(Class::Writer, WRITER_CONNECTIONS)?,
            lease: own(Class::Lease, 1)?,
            cleanup: own(Class::Cleanup, 1)?,
            clock,
            outcome_groups: Turns::new(OUTCOME_GROUPS),
        })
    }

    /// For a command that an operator waits for: its statements may take long.
    #[must_use]
    pub fn patient(self) -> Self {
        let pool = self.pool.with_class(Class::Operator);
        Self {
            background: pool.clone(),
            reads: pool.clone(),
            pool,
            ..self
        }
    }

    pub async fn begin(&self) -> Result<Transaction, Error> {
        Ok(self.pool.begin().await?)
    }
}

fn options(connections: u32) -> PoolOptions {
    PoolOptions {
        connections: usize::try_from(connections).unwrap_or(usize::MAX),
        application: "longshored".to_owned(),
        interceptor: None,
    }
}
