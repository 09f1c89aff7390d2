//! The rows of capped API keys: what each has held and spent in a month.
//!
//! Every function that takes a transaction needs the lock of the organizations' accounts. All
//! changes of a row happen under that lock, so the rows need no lock order of their own.

use std::collections::HashMap;

use chrono::NaiveDate;
use domain::id::{ApiKeyId, OrganizationId};
use domain::key_spending::KeySpending;
use domain::money::Money;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// A key and a month.
pub type KeyMonth = (ApiKeyId, NaiveDate);

/// The rows that a transaction works on.
#[derive(Debug, Default)]
pub struct KeySpendings {
    rows: HashMap<KeyMonth, ReadRow>,
}

#[derive(Debug)]
struct ReadRow {
    organization: OrganizationId,
    before: KeySpending,
    after: KeySpending,
}

impl KeySpendings {
    /// Reads the rows of these keys and months. One that does not exist starts at zero, and is
    /// stored only by [`Self::write`]. Runs no statement if there are none.
    pub async fn read(
        tx: &mut Transaction,
        keys: &HashMap<KeyMonth, OrganizationId>,
    ) -> Result<Self, Error> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let (ids, months): (Vec<Uuid>, Vec<NaiveDate>) =
            keys.keys().map(|(key, month)| (key.uuid(), *month)).unzip();
        let found = sqlx::query!(
            "select s.api_key, s.month, s.held, s.spent
             from unnest($1::uuid[], $2::date[]) as requested (api_key, month)
             join shard.key_spending s
                 on s.api_key = requested.api_key and s.month = requested.month",
            &ids,
            &months
        )
        .fetch_all(&mut **tx)
        .await?;
        let found: HashMap<KeyMonth, (Money, Money)> = found
            .into_iter()
            .map(|row| {
                (
                    (row.api_key.into(), row.month),
                    (Money(row.held), Money(row.spent)),
                )
            })
            .collect();
        let rows = keys.iter().map(|(&(key, month), &organization)| {
            let mut before = KeySpending::new(key, month);
            if let Some(&(held, spent)) = found.get(&(key, month)) {
                (before.held, before.spent) = (held, spent);
            }
            let row = ReadRow {
                organization,
                before,
                after: before,
            };
            ((key, month), row)
        });
        Ok(Self {
            rows: rows.collect(),
        })
    }

    pub fn get_mut(&mut self, key: ApiKeyId, month: NaiveDate) -> Option<&mut KeySpending> {
        let row = self.rows.get_mut(&(key, month))?;
        Some(&mut row.after)
    }

    /// Stores the rows that have changed. Runs no statement if there are none.
    pub async fn write(self, tx: &mut Transaction) -> Result<(), Error> {
        let mut columns = Columns::default();
        for row in self.rows.into_values() {
            if row.before != row.after {
                columns.push(row.organization, &row.after);
            }
        }
        if columns.key.is_empty() {
            return Ok(());
        }
        sqlx::query!(
            "insert into shard.key_spending (api_key, month, organization, held, spent)
             select * from unnest($1::uuid[], $2::date[], $3::uuid[], $4::bigint[], $5::bigint[])
             on conflict (api_key, month) do update
                 set held = excluded.held, spent = excluded.spent",
            &columns.key,
            &columns.month,
            &columns.organization,
            &columns.held,
            &columns.spent
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

#[derive(Default)]
struct Columns {
    key: Vec<Uuid>,
    month: Vec<NaiveDate>,
    organization: Vec<Uuid>,
    held: Vec<i64>,
    spent: Vec<i64>,
}

impl Columns {
    fn push(&mut self, organization: OrganizationId, row: &KeySpending) {
        self.key.push(row.key.uuid());
        self.month.push(row.month);
        self.organization.push(organization.uuid());
        self.held.push(row.held.nanos());
        self.spent.push(row.spent.nanos());
    }
}

/// The rows of these keys in a month, without a lock.
pub async fn list(
    shard: &Shard,
    keys: &[ApiKeyId],
    month: NaiveDate,
) -> Result<Vec<KeySpending>, Error> {
    let keys: Vec<Uuid> = keys.iter().map(|key| key.uuid()).collect();
    let rows = sqlx::query!(
        "select api_key, month, held, spent from shard.key_spending
         where api_key = any($1) and month = $2",
        &keys,
        month
    )
    .fetch_all(&shard.reads)
    .await?;
    let rows = rows.into_iter().map(|row| KeySpending {
        key: row.api_key.into(),
        month: row.month,
        held: Money(row.held),
        spent: Money(row.spent),
    });
    Ok(rows.collect())
}
