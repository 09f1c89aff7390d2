//! Folding of appended counts into sums. Folded rows leave dead entries at the head of their
//! table. An old transaction keeps these from being removed, so folding starts behind them.

use crate::Error;
use crate::Shard;
use crate::shard::{callback_health, usage};

/// A table to which counts are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountTable {
    Usage,
    Callback,
}

impl CountTable {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Callback => "callback",
        }
    }
}

/// Folds at most `most` rows with ids after `after`; returns how many it folded.
pub async fn fold(shard: &Shard, counts: CountTable, after: i64, most: i64) -> Result<u64, Error> {
    match counts {
        CountTable::Usage => usage::fold(shard, after, most).await,
        CountTable::Callback => callback_health::fold(shard, after, most).await,
    }
}

/// The newest id that was given to a row, committed or not.
pub async fn read_newest_id(shard: &Shard, counts: CountTable) -> Result<i64, Error> {
    let newest = match counts {
        CountTable::Usage => {
            sqlx::query_scalar!(r#"select last_value as "last!" from shard.usage_delta_id_seq"#)
                .fetch_one(&shard.pool)
                .await?
        }
        CountTable::Callback => {
            sqlx::query_scalar!(r#"select last_value as "last!" from shard.callback_delta_id_seq"#)
                .fetch_one(&shard.pool)
                .await?
        }
    };
    Ok(newest)
}

/// Whether there are rows after `after` and up to `until`, including rows that another node is
/// folding now.
pub async fn has_rows(
    shard: &Shard,
    counts: CountTable,
    after: i64,
    until: i64,
) -> Result<bool, Error> {
    let found = match counts {
        CountTable::Usage => {
            sqlx::query_scalar!(
                r#"select exists (select from shard.usage_delta where id > $1 and id <= $2) as "found!""#,
                after,
                until
            )
            .fetch_one(&shard.pool)
            .await?
        }
        CountTable::Callback => {
            sqlx::query_scalar!(
                r#"select exists (select from shard.callback_delta where id > $1 and id <= $2) as "found!""#,
                after,
                until
            )
            .fetch_one(&shard.pool)
            .await?
        }
    };
    Ok(found)
}

/// Every row up to this id has been folded.
pub async fn read_floor(shard: &Shard, counts: CountTable) -> Result<i64, Error> {
    let floor = sqlx::query_scalar!(
        "select floor from shard.fold_floor where queue = $1",
        counts.as_str()
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(floor.unwrap_or_default())
}

pub async fn raise_floor(shard: &Shard, counts: CountTable, floor: i64) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.fold_floor (queue, floor) values ($1, $2)
         on conflict (queue) do update set floor = greatest(fold_floor.floor, excluded.floor)",
        counts.as_str(),
        floor
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
