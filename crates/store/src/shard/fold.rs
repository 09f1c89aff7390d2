//! Where the folding of counts stands. Rows that were folded leave dead entries at the head of
//! their table; under an old transaction nothing clears them away, so folding starts behind them.

use crate::Error;
use crate::Shard;
use crate::shard::{callback_health, usage};

/// A table to which counts are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    Usage,
    Callback,
}

impl Counts {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Callback => "callback",
        }
    }
}

/// Folds at most `most` rows with ids after `after`; returns how many there were.
pub async fn fold(shard: &Shard, counts: Counts, after: i64, most: i64) -> Result<u64, Error> {
    match counts {
        Counts::Usage => usage::fold(shard, after, most).await,
        Counts::Callback => callback_health::fold(shard, after, most).await,
    }
}

/// The newest id that was given to a row, committed or not.
pub async fn newest(shard: &Shard, counts: Counts) -> Result<i64, Error> {
    let newest = match counts {
        Counts::Usage => {
            sqlx::query_scalar!(r#"select last_value as "last!" from shard.usage_delta_id_seq"#)
                .fetch_one(&shard.pool)
                .await?
        }
        Counts::Callback => {
            sqlx::query_scalar!(r#"select last_value as "last!" from shard.callback_delta_id_seq"#)
                .fetch_one(&shard.pool)
                .await?
        }
    };
    Ok(newest)
}

/// Whether there are rows after `after` and up to `until`, those that another node folds just now
/// included.
pub async fn has_rows(
    shard: &Shard,
    counts: Counts,
    after: i64,
    until: i64,
) -> Result<bool, Error> {
    let found = match counts {
        Counts::Usage => {
            sqlx::query_scalar!(
                r#"select exists (select from shard.usage_delta where id > $1 and id <= $2) as "found!""#,
                after,
                until
            )
            .fetch_one(&shard.pool)
            .await?
        }
        Counts::Callback => {
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

/// Up to here everything has been folded.
pub async fn floor(shard: &Shard, counts: Counts) -> Result<i64, Error> {
    let floor = sqlx::query_scalar!(
        "select floor from shard.fold_floor where queue = $1",
        counts.as_str()
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(floor.unwrap_or_default())
}

pub async fn raise_floor(shard: &Shard, counts: Counts, floor: i64) -> Result<(), Error> {
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
