//! Counts of callback attempts by host: appended once per group, folded by sweep, shown on the
//! dashboard.

use domain::callback_health::CallbackTally;
use domain::time::{Timestamp, start_of_hour};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::signed;

/// A tally as the columns of one row.
#[derive(Debug, Default)]
pub(crate) struct CallbackDelta {
    pub(crate) hour: Timestamp,
    pub(crate) project: Vec<Uuid>,
    pub(crate) host: Vec<String>,
    pub(crate) ending: Vec<String>,
    pub(crate) class: Vec<i16>,
    pub(crate) count: Vec<i64>,
}

impl CallbackDelta {
    pub(crate) fn of(tally: &CallbackTally, now: Timestamp) -> Self {
        let mut delta = Self {
            hour: start_of_hour(now),
            ..Self::default()
        };
        for (attempts, count) in tally.iter() {
            delta.project.push(attempts.project.uuid());
            delta.host.push(attempts.host.clone());
            delta.ending.push(attempts.result.as_str().to_owned());
            delta.class.push(attempts.latency.number());
            delta.count.push(signed(count));
        }
        delta
    }
}

/// Folds at most `most` rows with ids after `after` into the sums.
///
/// Any number of nodes may fold: rows that another node has locked are skipped.
pub async fn fold(shard: &Shard, after: i64, most: i64) -> Result<u64, Error> {
    let folded = sqlx::query_scalar!(
        r#"with gone as (
               delete from shard.callback_delta
               where id in (select id from shard.callback_delta where id > $2 order by id limit $1
                            for update skip locked)
               returning *
           ), sums as (
               select entry.project, gone.hour, entry.host, entry.ending, entry.class,
                   sum(entry.count)::bigint as count
               from gone, unnest(gone.project, gone.host, gone.ending, gone.class, gone.count)
                   as entry (project, host, ending, class, count)
               group by 1, 2, 3, 4, 5
               -- Two folders lock the sums in the same order.
               order by 1, 2, 3, 4, 5
           ), folded as (
               insert into shard.callback_hour (project, hour, host, ending, class, count)
               select * from sums
               on conflict (project, hour, host, ending, class) do update
                   set count = callback_hour.count + excluded.count
           )
           select count(*) as "count!" from gone"#,
        most,
        after
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(u64::try_from(folded).unwrap_or_default())
}
