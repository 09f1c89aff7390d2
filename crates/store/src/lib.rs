//! The only crate that contains SQL: the rows of control and of each shard.
//!
//! Every statement is checked against the schema when this crate is compiled.
//! Time is an argument; only leases use the database server's clock.

use std::sync::Arc;

use domain::master_key::MasterKeys;
use domain::time::Clock;

pub mod body;

pub mod control;

pub mod doctor;

pub mod durability;

pub mod encryption;

pub mod erasure;

mod error;

pub mod migrate;

mod number;

pub mod pool;

pub mod shard;

pub mod tables;

pub mod concurrency_slots;

pub mod single_flight;

pub mod view;

pub use error::Error;
pub use pool::{DatabaseSession, Pool, PoolOptions, Transaction, WorkloadClass};

use concurrency_slots::ConcurrencySlots;
use encryption::KeyCache;
use shard::partition;

/// For groups of loads: two writers, each with a second connection for slow groups.
pub const WRITER_CONNECTIONS: usize = 4;

/// How many groups of outcomes a process stores in a shard at once. Each group locks the accounts
/// of all its organizations in order. With more groups, all of them wait behind the slowest.
const MAX_CONCURRENT_OUTCOME_GROUPS: usize = 2;

/// How many requests of callers cancel cargo of a shard at once. They wait for the transactions that
/// move their cargo, so they must not take the slots of outcomes.
const MAX_CONCURRENT_CANCEL_REQUESTS: usize = 2;

/// The connections of a process to a shard outside the main pool: for the writers, the lease and
/// the cleanup of dead nodes.
pub const EXTRA_CONNECTIONS: usize = WRITER_CONNECTIONS + 2;

/// Organizations, projects, keys and the map of berths.
#[derive(Debug, Clone)]
pub struct Control {
    pub pool: Pool,
}

/// One data shard: all rows of the organizations whose berths are mapped to it.
#[derive(Debug)]
pub struct Shard {
    pub name: Arc<str>,
    /// For stages and routes.
    pub pool: Pool,
    /// For sweeps, folds and audits: statements that may take long.
    pub background: Pool,
    /// For tracking and dashboard pages.
    pub reads: Pool,
    /// For groups of loads.
    pub writers: Pool,
    /// For the lease of this process: one dedicated connection.
    pub lease: Pool,
    /// For freeing the claims of dead nodes.
    pub cleanup: Pool,
    pub clock: Arc<dyn Clock>,
    /// Bounds how many groups of outcomes are stored at once.
    pub outcome_group_slots: ConcurrencySlots,
    /// Bounds how many requests of callers cancel cargo at once.
    pub cancel_request_slots: ConcurrencySlots,
    pub(crate) keys: KeyCache,
    pub(crate) partition_days_ahead: u64,
}

impl Control {
    pub fn connect_lazily(url: &str, connections: u32) -> Result<Self, Error> {
        Self::new(url, &options(connections))
    }

    pub fn new(url: &str, options: &PoolOptions) -> Result<Self, Error> {
        Ok(Self {
            pool: Pool::new(url, WorkloadClass::Control, options.clone())?,
        })
    }

    /// For a command that an operator waits for: its statements may take long.
    #[must_use]
    pub fn for_operator(self) -> Self {
        Self {
            pool: self.pool.with_class(WorkloadClass::Operator),
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
        let pool = Pool::new(url, WorkloadClass::Stage, options.clone())?;
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
            background: pool.with_class(WorkloadClass::Background),
            reads: pool.with_class(WorkloadClass::Read),
            pool,
            writers: own(WorkloadClass::Writer, WRITER_CONNECTIONS)?,
            lease: own(WorkloadClass::Lease, 1)?,
            cleanup: own(WorkloadClass::Cleanup, 1)?,
            clock,
            outcome_group_slots: ConcurrencySlots::new(MAX_CONCURRENT_OUTCOME_GROUPS),
            cancel_request_slots: ConcurrencySlots::new(MAX_CONCURRENT_CANCEL_REQUESTS),
            keys: KeyCache::new(None),
            partition_days_ahead: partition::DAYS_AHEAD,
        })
    }

    /// With the master keys that unwrap the data keys of projects.
    #[must_use]
    pub fn with_master_keys(self, master_keys: Option<Arc<dyn MasterKeys>>) -> Self {
        Self {
            keys: KeyCache::new(master_keys),
            ..self
        }
    }

    /// With partitions for so many days ahead, not thirty: tests make a shard each.
    #[must_use]
    pub fn with_partition_days_ahead(self, days: u64) -> Self {
        Self {
            partition_days_ahead: days,
            ..self
        }
    }

    /// For a command that an operator waits for: its statements may take long.
    #[must_use]
    pub fn for_operator(self) -> Self {
        let pool = self.pool.with_class(WorkloadClass::Operator);
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
