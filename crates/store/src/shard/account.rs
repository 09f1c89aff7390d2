//! The account row of an organization, which every group of its loads locks first.

use domain::account::Account;
use domain::id::OrganizationId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// The shard side of a new organization. Written before its control row, as often as needed.
pub async fn open(
    shard: &Shard,
    organization: OrganizationId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.account (organization, opened_at) values ($1, $2)
         on conflict (organization) do nothing",
        organization.uuid(),
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The accounts that a group holds, and what was learned on the way.
#[derive(Debug)]
pub struct Locked {
    pub accounts: Vec<Account>,
    /// By the shard's clock, after the last lock was taken.
    pub told: Option<Timestamp>,
    /// Names the transaction after a commit whose answer was lost.
    pub transaction: Option<String>,
}

/// Locks what is free and passes over what another group holds.
pub async fn lock_free(tx: &mut Transaction<'_>, organizations: &[Uuid]) -> Result<Locked, Error> {
    let rows = sqlx::query!(
        r#"with locked as materialized (
               select organization from shard.account
               where organization = any($1)
               -- Everyone locks in the same order, so nobody waits in a circle.
               order by organization
               for no key update skip locked
           )
           select organization as "organization!",
               -- Evaluated above the lock: loads of an organization get ids in commit order.
               clock_timestamp() as "told!",
               pg_current_xact_id()::text as "transaction!"
           from locked"#,
        organizations
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(Locked {
        told: rows.iter().map(|row| row.told).max(),
        transaction: rows.first().map(|row| row.transaction.clone()),
        accounts: rows
            .into_iter()
            .map(|row| account(row.organization))
            .collect(),
    })
}

/// Locks them all, waiting for whoever holds one.
pub async fn lock_waiting(
    tx: &mut Transaction<'_>,
    organizations: &[Uuid],
) -> Result<Locked, Error> {
    let rows = sqlx::query!(
        r#"with locked as materialized (
               select organization from shard.account
               where organization = any($1)
               order by organization
               for no key update
           )
           select organization as "organization!", clock_timestamp() as "told!",
               pg_current_xact_id()::text as "transaction!"
           from locked"#,
        organizations
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(Locked {
        told: rows.iter().map(|row| row.told).max(),
        transaction: rows.first().map(|row| row.transaction.clone()),
        accounts: rows
            .into_iter()
            .map(|row| account(row.organization))
            .collect(),
    })
}

fn account(organization: Uuid) -> Account {
    Account {
        organization: organization.into(),
    }
}
