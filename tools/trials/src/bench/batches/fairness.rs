//! Fairness: one cargo that is loaded late leaves before another organization's backlog.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::{
    FailureContext as _, QuestionLoader, Result, TrialVerdict, judge, median, round_to,
};

/// Indexes in the list of organizations; both are on the first shard.
pub const BUSY_ORGANIZATION: usize = 0;
pub const LATE_ORGANIZATION: usize = 2;

type Row = (DateTime<Utc>, Vec<Uuid>);

/// `acknowledged` is when the late organization's load was answered.
pub async fn judge(
    verdict: &mut TrialVerdict,
    callers: &QuestionLoader,
    pool: &PgPool,
    acknowledged: DateTime<Utc>,
) -> Result<()> {
    let late = callers
        .callback_log
        .cargo_of(LATE_ORGANIZATION)
        .first()
        .copied();
    let late = late.context("the late organization's load was not acknowledged")?;
    let rows = read_batches(pool, late).await?;
    let busy: HashSet<u128> = callers
        .callback_log
        .cargo_of(BUSY_ORGANIZATION)
        .into_iter()
        .collect();
    let stands = gather_position(&rows, late, &busy, acknowledged);
    let seconds = |place| callers.callback_log.callback_seconds_of(place);
    let waited = seconds(LATE_ORGANIZATION)
        .first()
        .copied()
        .unwrap_or(f64::NAN);
    let of_busy = median(&mut seconds(BUSY_ORGANIZATION)).unwrap_or(f64::NAN);
    judge! { verdict;
        record "busy_organization_cargo" => busy.len(),
        record "batches_before_the_latecomer" => stands.batches_before,
        record "busy_organization_cargo_left" => stands.busy_cargo_after,
        record "latecomer_seconds_to_callback" => round_to(waited, 2),
        record "busy_organization_median_seconds_to_callback" => round_to(of_busy, 2),
        check "the latecomer's cargo is in the next batch" =>
            stands.was_gathered && stands.batches_before == 0,
        check "the latecomer had a backlog to overtake" => stands.busy_cargo_after > 0,
        check_figure "the latecomer is faster than the busy organization's median" =>
            waited <= of_busy,
    }
    Ok(())
}

/// The batches of a cargo's lane, in the order in which they were gathered.
async fn read_batches(pool: &PgPool, cargo: u128) -> Result<Vec<Row>> {
    let query = "
        select gathered_at, cargo from shard.batch
        where lane = (select lane from shard.cargo where id = $1)
        order by gathered_at";
    let batches = sqlx::query_as::<_, Row>(query).bind(Uuid::from_u128(cargo));
    batches.fetch_all(pool).await.context("reading batches")
}

#[derive(Debug, PartialEq, Eq)]
struct GatherPosition {
    was_gathered: bool,
    /// Batches gathered after its load and before its own batch.
    batches_before: usize,
    /// Cargo of the busy organization in later batches.
    busy_cargo_after: usize,
}

fn gather_position(
    rows: &[Row],
    late: u128,
    busy: &HashSet<u128>,
    loaded: DateTime<Utc>,
) -> GatherPosition {
    let has = |cargo: &[Uuid]| cargo.iter().any(|id| id.as_u128() == late);
    let own = rows.iter().position(|(_, cargo)| has(cargo));
    let (earlier, later) = rows.split_at(own.unwrap_or(rows.len()));
    let of_busy = |cargo: &[Uuid]| {
        cargo
            .iter()
            .filter(|id| busy.contains(&id.as_u128()))
            .count()
    };
    GatherPosition {
        was_gathered: own.is_some(),
        batches_before: earlier.iter().filter(|(at, _)| *at > loaded).count(),
        busy_cargo_after: later.iter().skip(1).map(|(_, cargo)| of_busy(cargo)).sum(),
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
        let busy = HashSet::from([1, 2, 3, 4, 5]);
        let found = |loaded| gather_position(&rows, 9, &busy, at(loaded));
        assert_eq!((found(2).batches_before, found(2).busy_cargo_after), (1, 2));
        assert_eq!((found(3).batches_before, found(3).was_gathered), (0, true));
        assert!(!gather_position(&rows, 8, &busy, at(0)).was_gathered);
    }
}
