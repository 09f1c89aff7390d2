//! The map of berths to shards.

use domain::id::Berth;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::change_feed;

/// A berth and the shard that it is mapped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BerthLocation {
    pub berth: Berth,
    pub shard: String,
}

/// What [`assign`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BerthAssignment {
    Assigned,
    /// An existing map is never changed by a list of names: rows are stored where it says.
    AlreadyAssigned,
}

/// Distributes the berths over these shards when there is no map yet.
pub async fn assign<Name: AsRef<str> + Sync>(
    control: &Control,
    shards: &[Name],
    now: Timestamp,
) -> Result<BerthAssignment, Error> {
    let names: Vec<String> = shards.iter().map(|name| name.as_ref().to_owned()).collect();
    let mut tx = control.pool.begin().await?;
    // Two nodes may migrate at once; the second finds the map that the first has made.
    change_feed::lock_feed(&mut tx).await?;
    let made = sqlx::query!(
        // Consecutive berths are on different shards: filling up from berth 0 fills all equally.
        r#"
        insert into control.berth (number, shard)
        select number, ($1::text[])[1 + number % cardinality($1::text[])]
        from generate_series(0, $2::int - 1) number
        where not exists (select from control.berth)
        "#,
        &names,
        i32::from(Berth::COUNT)
    )
    .execute(&mut *tx)
    .await?;
    if made.rows_affected() == 0 {
        return Ok(BerthAssignment::AlreadyAssigned);
    }
    change_feed::append(&mut tx, change_feed::ChangeKind::Berth, None, now).await?;
    tx.commit().await?;
    Ok(BerthAssignment::Assigned)
}

/// The shard of each berth, ordered by berth number. An incomplete map is an error.
pub async fn read_map(control: &Control) -> Result<Vec<String>, Error> {
    let rows = sqlx::query!("select number, shard from control.berth order by number")
        .fetch_all(&control.pool)
        .await?;
    let whole = rows.len() == usize::from(Berth::COUNT)
        && rows
            .iter()
            .zip(0..)
            .all(|(row, number)| row.number == number);
    if !whole {
        return Err(Error::Corrupt {
            table: "control.berth",
            column: "number",
        });
    }
    Ok(rows.into_iter().map(|row| row.shard).collect())
}

/// The berth with the fewest organizations, of one shard or of all.
pub async fn find_emptiest(
    control: &Control,
    shard: Option<&str>,
) -> Result<Option<BerthLocation>, Error> {
    let row = sqlx::query!(
        r#"
        select berth.number, berth.shard
        from control.berth
        left join control.organization on organization.berth = berth.number
        where $1::text is null or berth.shard = $1
        group by berth.number
        order by count(organization.id), berth.number
        limit 1
        "#,
        shard
    )
    .fetch_optional(&control.pool)
    .await?;
    row.map(|row| {
        Ok(BerthLocation {
            berth: from_row(row.number, "control.berth")?,
            shard: row.shard,
        })
    })
    .transpose()
}

/// The shard of one berth; None before the berths were assigned.
pub async fn find_shard(control: &Control, berth: Berth) -> Result<Option<String>, Error> {
    let shard = sqlx::query_scalar!(
        "select shard from control.berth where number = $1",
        to_row(berth)
    );
    Ok(shard.fetch_optional(&control.pool).await?)
}

pub(super) fn from_row(number: i16, table: &'static str) -> Result<Berth, Error> {
    let berth = u16::try_from(number).ok().and_then(Berth::new);
    berth.ok_or(Error::Corrupt {
        table,
        column: "berth",
    })
}

pub(super) fn to_row(berth: Berth) -> i16 {
    i16::try_from(berth.number()).unwrap_or_default()
}
