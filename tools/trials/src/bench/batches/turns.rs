//! Whether one who comes late with one cargo leaves before the backlog of another.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use uuid::Uuid;

use crate::failure::{During as _, Failure, Result};
use crate::figures::{median, rounded};
use crate::fleet::callers::Callers;
use crate::verdict::Verdict;

/// Who loads what, by place in the list; both lie on the first shard.
pub const CROWD: usize = 0;
pub const LATECOMER: usize = 2;

type Row = (DateTime<Utc>, Vec<Uuid>);

/// `acknowledged` is when the latecomer's load had its answer.
pub async fn judge(
    verdict: &mut Verdict,
    callers: &Callers,
    pool: &PgPool,
    acknowledged: DateTime<Utc>,
) -> Result<()> {
    let late = callers.book.of(LATECOMER).first().copied();
    let late = late.ok_or_else(|| Failure::new("the latecomer's load was not acknowledged"))?;
    let rows = rows(pool, late).await?;
    let crowd: HashSet<u128> = callers.book.of(CROWD).into_iter().collect();
    let stands = stands(&rows, late, &crowd, acknowledged);
    let seconds = |place| callers.book.seconds_of(place);
    let waited = seconds(LATECOMER).first().copied().unwrap_or(f64::NAN);
    let of_crowd = median(&mut seconds(CROWD)).unwrap_or(f64::NAN);
    verdict
        .note("crowd", crowd.len())
        .note("batches_before_the_latecomer", stands.before)
        .note("crowd_still_waiting_then", stands.waiting)
        .note("latecomer_seconds_to_callback", rounded(waited, 2))
        .note("crowd_median_seconds_to_callback", rounded(of_crowd, 2))
        .promise(
            "the latecomer leaves in the next batch",
            stands.is_in_one && stands.before == 0,
        )
        .promise("a backlog was there to pass", stands.waiting > 0)
        .promise("the latecomer is before the crowd", waited <= of_crowd);
    Ok(())
}

/// The batches of a cargo's lane, in the order in which they were gathered.
async fn rows(pool: &PgPool, cargo: u128) -> Result<Vec<Row>> {
    let query = "
        select id from shard.batch
        where lane = (select lane from shard.cargo where id = $1)
        order by gathered_at";
    let batches = sqlx::query_scalar::<_, Uuid>(query).bind(Uuid::from_u128(cargo));
    let batches = batches.fetch_all(pool).await.during("reading batches")?;
    let mut rows = Vec::new();
    for batch in batches {
        let at = sqlx::query_scalar("select gathered_at from shard.batch where id = $1");
        let at = at.bind(batch).fetch_one(pool).await;
        let cargo = sqlx::query_scalar("select cargo from shard.batch where id = $1");
        let cargo = cargo.bind(batch).fetch_one(pool).await;
        rows.push((
            at.during("reading a batch")?,
            cargo.during("reading a batch")?,
        ));
    }
    Ok(rows)
}

#[derive(Debug, PartialEq, Eq)]
struct Stands {
    is_in_one: bool,
    /// Batches that were gathered after its load and before its own.
    before: usize,
    /// The crowd's cargo in later batches.
    waiting: usize,
}

fn stands(rows: &[Row], late: u128, crowd: &HashSet<u128>, loaded: DateTime<Utc>) -> Stands {
    let has = |cargo: &[Uuid]| cargo.iter().any(|id| id.as_u128() == late);
    let own = rows.iter().position(|(_, cargo)| has(cargo));
    let (earlier, later) = rows.split_at(own.unwrap_or(rows.len()));
    let of_crowd = |cargo: &[Uuid]| {
        cargo
            .iter()
            .filter(|id| crowd.contains(&id.as_u128()))
            .count()
    };
    Stands {
        is_in_one: own.is_some(),
        before: earlier.iter().filter(|(at, _)| *at > loaded).count(),
        waiting: later.iter().skip(1).map(|(_, cargo)| of_crowd(cargo)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_between_the_load_and_its_own_is_one_too_many() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let row = |second, cargo: &[u128]| {
            let cargo = cargo.iter().map(|id| Uuid::from_u128(*id));
            (at(second), cargo.collect::<Vec<_>>())
        };
        let rows = [row(1, &[1]), row(3, &[2]), row(4, &[3, 9]), row(5, &[4, 5])];
        let crowd = HashSet::from([1, 2, 3, 4, 5]);
        let found = |loaded| stands(&rows, 9, &crowd, at(loaded));
        assert_eq!((found(2).before, found(2).waiting), (1, 2));
        assert_eq!((found(3).before, found(3).is_in_one), (0, true));
        assert!(!stands(&rows, 8, &crowd, at(0)).is_in_one);
    }
}
