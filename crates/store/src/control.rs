//! The rows of control: who may ask, and where their rows lie.
//!
//! Whatever is changed here is also noted in the feed of changes, in the same
//! transaction: nodes keep what they have read and forget it when told.

use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use sqlx::{Acquire as _, Connection as _};

use crate::Control;
use crate::Error;

pub mod api_key;

pub mod audit;

pub mod berth;

pub mod change;

pub mod installation;

pub mod member;

pub mod node;

pub mod organization;

pub mod pass;

pub mod person;

pub mod project;

pub mod seat;

pub mod session;

pub mod throttle;

impl Control {
    /// A connection that answers.
    ///
    /// The pool hands out connections unasked, and one that was cut fails in its
    /// first statement. Nodes that wait for control to come back would meet each
    /// of them in turn; what they read is rare enough for one more round trip.
    async fn live(&self) -> Result<PoolConnection<Postgres>, Error> {
        loop {
            let mut connection = self.pool.acquire().await?;
            match connection.acquire().await?.ping().await {
                Ok(()) => return Ok(connection),
                // Dropping the dead makes room for a new one; when that cannot be
                // made either, acquiring says so.
                Err(_) => drop(connection.detach()),
            }
        }
    }
}
