//! The only crate that knows SQL: the rows of control and of each shard.
//!
//! Every statement is checked against the schema when this crate is compiled.
//! Time is an argument; only leases are kept by the server's own clock.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

pub mod body;

pub mod control;

pub mod doctor;

mod error;

pub mod migrate;

mod number;

pub mod shard;

pub mod view;

pub use error::Error;
pub use sqlx::PgTransaction as Transaction;

/// Nothing waits longer than this for a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// Organizations, projects, keys and the map of berths.
#[derive(Debug, Clone)]
pub struct Control {
    pub pool: PgPool,
}

/// One data shard: everything of the organizations whose berths lie there.
#[derive(Debug)]
pub struct Shard {
    pub name: Arc<str>,
    pub pool: PgPool,
    pub clock: Arc<dyn Clock>,
}

impl Control {
    pub fn connect_lazily(url: &str, connections: u32) -> Result<Self, Error> {
        Ok(Self {
            pool: pool(url, connections)?,
        })
    }
}

impl Shard {
    pub fn connect_lazily(
        name: &str,
        url: &str,
        connections: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        Ok(Self {
            name: name.into(),
            pool: pool(url, connections)?,
            clock,
        })
    }

    /// Begins on a connection that answers: those that were cut while they lay idle
    /// show themselves here, before anything is written.
    pub async fn begin(&self) -> Result<Transaction<'static>, Error> {
        for _ in 0..self.pool.options().get_max_connections() {
            match self.pool.begin().await {
                Err(sqlx::Error::Io(_) | sqlx::Error::Database(_)) => {}
                begun => return Ok(begun?),
            }
        }
        Ok(self.pool.begin().await?)
    }
}

fn pool(url: &str, connections: u32) -> Result<PgPool, Error> {
    let options: PgConnectOptions = url.parse()?;
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        // A connection that was cut shows itself in its first statement; asking
        // each time would cost a round trip.
        .test_before_acquire(false);
    Ok(pool.connect_lazy_with(options.application_name("longshored")))
}
