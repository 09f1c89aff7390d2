//! The end of what grows with history: each function deletes a bounded number of rows that are past
//! their retention, or replaces many rows by their sums.
//!
//! Every statement finds its rows by a primary key, or by an index that other statements need too.

pub mod counts;
pub mod ended;
pub mod freeze;
pub mod ledger;
pub mod overdue;

use chrono::{NaiveTime, TimeDelta};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::node::{self, Claim};
use crate::shard::partition;

/// The clocks that stamped two rows may differ by this much.
const CLOCK_MARGIN: TimeDelta = TimeDelta::hours(1);

/// Whether this node is the one that does it for all.
pub async fn is_our_turn(shard: &Shard, claim: Claim) -> Result<bool, Error> {
    let mut tx = shard.background.begin().await?;
    let ours = node::is_first_worker(&mut tx, claim).await?;
    tx.rollback().await?;
    Ok(ours)
}

/// Whatever ended before this belongs to cargo that is dropped. None: no day exists.
pub async fn find_kept_since(shard: &Shard) -> Result<Option<Timestamp>, Error> {
    let days = partition::list_existing_days(shard).await?;
    let first = days.first().map(|day| day.and_time(NaiveTime::MIN));
    Ok(first.map(|first| first.and_utc() - CLOCK_MARGIN))
}
