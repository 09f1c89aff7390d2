//! The feed: the cargo that completed, those whose callback ended, and the groups that a request
//! completed. It wakes requests that wait.
//!
//! Its table is unlogged: after a crash of the server it is empty. So readers never depend on it
//! alone. Its times are those of the server's clock, because each process has another one.

use std::collections::BTreeSet;

use domain::id::{CargoId, GroupId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// The entry of one transaction.
#[derive(Debug, Default)]
pub(crate) struct NewFeedEntry {
    cargo: Vec<Uuid>,
    groups: BTreeSet<Uuid>,
}

impl NewFeedEntry {
    /// `group` is the group of the cargo, if its results have changed.
    pub(crate) fn add(&mut self, cargo: Uuid, group: Option<Uuid>) {
        self.cargo.push(cargo);
        self.groups.extend(group);
    }

    /// Appends the entry. It comes last in its transaction: readers go back two seconds, so the
    /// commit should follow soon.
    pub(crate) async fn append(self, tx: &mut Transaction) -> Result<(), Error> {
        if self.cargo.is_empty() {
            return Ok(());
        }
        let groups: Vec<Uuid> = self.groups.into_iter().collect();
        sqlx::query!(
            "insert into shard.feed (cargo, group_id) values ($1, $2)",
            &self.cargo,
            &groups
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

/// What one transaction has changed.
#[derive(Debug)]
pub struct FeedEntry {
    pub id: i64,
    pub cargo: Vec<CargoId>,
    pub groups: Vec<GroupId>,
}

/// The entries of the last two seconds, except the known ones. Transactions do not commit in the
/// order of their entries: an entry may appear after later ones.
pub async fn read_recent(shard: &Shard, known: &[i64]) -> Result<Vec<FeedEntry>, Error> {
    let rows = sqlx::query!(
        "select id, cargo, group_id from shard.feed
         where at > now() - interval '2 seconds' and id <> all($1)",
        known
    )
    .fetch_all(&shard.reads)
    .await?;
    let entries = rows.into_iter().map(|row| FeedEntry {
        id: row.id,
        cargo: row.cargo.into_iter().map(Into::into).collect(),
        groups: row.group_id.into_iter().map(Into::into).collect(),
    });
    Ok(entries.collect())
}

/// Deletes at most `most` entries that are older than a minute, from a time on.
/// Returns the time of the last one. The next call starts there and skips the dead rows before it.
pub async fn delete_old_entries(
    shard: &Shard,
    from: Timestamp,
    most: i64,
) -> Result<Option<Timestamp>, Error> {
    let last = sqlx::query_scalar!(
        "with gone as (
             delete from shard.feed where id in (
                 select id from shard.feed
                 where at >= $1 and at < now() - interval '1 minute'
                 order by at limit $2 for update skip locked
             )
             returning at
         )
         select max(at) from gone",
        from,
        most
    )
    .fetch_one(&shard.background)
    .await?;
    Ok(last)
}
