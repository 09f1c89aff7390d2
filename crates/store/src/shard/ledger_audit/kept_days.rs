//! The days whose rows are kept.

use chrono::NaiveDate;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;

/// The oldest day whose outcomes are kept, and its smallest id.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptDays {
    pub(super) first_day: NaiveDate,
    pub(super) first_id: Uuid,
}

pub(super) async fn read(tx: &mut Transaction) -> Result<KeptDays, Error> {
    let row = sqlx::query!(
        r#"select first.day as "day!",
               shard.id_floor(first.day::timestamp at time zone 'UTC') as "id!"
           from (select coalesce(to_date(min(right(c.relname, 8)), 'YYYYMMDD'), '2999-12-31') as day
                 from pg_inherits i join pg_class c on c.oid = i.inhrelid
                 where i.inhparent = 'shard.outcome'::regclass and not i.inhdetachpending) first"#
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(KeptDays {
        first_day: row.day,
        first_id: row.id,
    })
}
