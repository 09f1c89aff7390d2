//! The map of berths to shards.

use domain::id::Berth;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::change;

/// A berth and the shard where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub berth: Berth,
    pub shard: String,
}

/// What [`assign`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignment {
    Made,
    /// A map that exists is never changed by a list of names: rows lie where it says.
    AlreadyThere,
}

/// Spreads the berths over these shards when there is no map yet.
pub async fn assign<Name: AsRef<str> + Sync>(
    control: &Control,
    shards: &[Name],
    now: Timestamp,
) -> Result<Assignment, Error> {
    let names: Vec<String> = shards.iter().map(|name| name.as_ref().to_owned()).collect();
    let mut tx = control.pool.begin().await?;
    // Two nodes may migrate at once; the second finds what the first has made.
    change::lock(&mut tx).await?;
    let made = sqlx::query!(
        // Neighbours lie on different shards: filling up from berth 0 fills all alike.
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
        return Ok(Assignment::AlreadyThere);
    }
    change::note(&mut tx, change::Kind::Berth, None, now).await?;
    tx.commit().await?;
    Ok(Assignment::Made)
}

/// The shard of each berth, in the order of their numbers: all of them or an error.
pub async fn map(control: &Control) -> Result<Vec<String>, Error> {
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
pub async fn emptiest(control: &Control, shard: Option<&str>) -> Result<Option<Place>, Error> {
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
        Ok(Place {
            berth: from_row(row.number, "control.berth")?,
            shard: row.shard,
        })
    })
    .transpose()
}

/// Where one berth lies; nothing before the berths were assigned.
pub async fn shard_of(control: &Control, berth: Berth) -> Result<Option<String>, Error> {
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
