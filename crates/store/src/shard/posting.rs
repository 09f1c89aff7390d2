//! The postings of the double-entry ledger: appended under the account's lock, never changed.

use domain::id::{CargoId, OrganizationId};
use domain::ledger::{DoubleEntry, PostingKind};
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::number::signed;

/// One posting of an organization's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub organization: OrganizationId,
    /// From 1, without a gap.
    pub number: u64,
    pub kind: PostingKind,
    pub at: Timestamp,
    pub entries: DoubleEntry,
    /// The organization's balance after this posting.
    pub balance: Money,
    /// The cargo that it settles.
    pub cargo: Option<Vec<CargoId>>,
    pub reference: Option<String>,
    pub note: Option<String>,
}

pub(crate) async fn append(tx: &mut Transaction, postings: &[Posting]) -> Result<(), Error> {
    if postings.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::default();
    for posting in postings {
        columns.push(posting);
    }
    sqlx::query!(
        "insert into shard.posting
             (organization, number, kind, at, credit, revenue, loss, funding, balance, cargo,
              reference, note)
         select organization, number, kind, at, credit, revenue, loss, funding, balance,
             -- There are no arrays of arrays of different lengths.
             cargo::uuid[], reference, note
         from unnest($1::uuid[], $2::bigint[], $3::text[], $4::timestamptz[], $5::bigint[],
                 $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[],
                 $12::text[])
             as posting (organization, number, kind, at, credit, revenue, loss, funding, balance,
                 cargo, reference, note)",
        &columns.organization,
        &columns.number,
        &columns.kind,
        &columns.at,
        &columns.credit,
        &columns.revenue,
        &columns.loss,
        &columns.funding,
        &columns.balance,
        &columns.cargo as &[Option<String>],
        &columns.reference as &[Option<String>],
        &columns.note as &[Option<String>]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The posting with this reference, if there is one.
pub(crate) async fn find_by_reference(
    tx: &mut Transaction,
    organization: OrganizationId,
    reference: &str,
) -> Result<Option<(u64, DoubleEntry, Money)>, Error> {
    let row = sqlx::query!(
        "select number, credit, revenue, loss, funding, balance from shard.posting
         where organization = $1 and reference = $2",
        organization.uuid(),
        reference
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| {
        let entries = entries_from_columns([row.credit, row.revenue, row.loss, row.funding]);
        let number = u64::try_from(row.number).unwrap_or_default();
        (number, entries, Money(row.balance))
    }))
}

/// From the columns of a row, in the table's order.
pub(crate) fn entries_from_columns([credit, revenue, loss, funding]: [i64; 4]) -> DoubleEntry {
    DoubleEntry {
        credit: Money(credit),
        revenue: Money(revenue),
        loss: Money(loss),
        funding: Money(funding),
    }
}

#[derive(Default)]
struct Columns {
    organization: Vec<Uuid>,
    number: Vec<i64>,
    kind: Vec<String>,
    at: Vec<Timestamp>,
    credit: Vec<i64>,
    revenue: Vec<i64>,
    loss: Vec<i64>,
    funding: Vec<i64>,
    balance: Vec<i64>,
    cargo: Vec<Option<String>>,
    reference: Vec<Option<String>>,
    note: Vec<Option<String>>,
}

impl Columns {
    fn push(&mut self, posting: &Posting) {
        self.organization.push(posting.organization.uuid());
        self.number.push(signed(posting.number));
        self.kind.push(posting.kind.as_str().to_owned());
        self.at.push(posting.at);
        self.credit.push(posting.entries.credit.nanos());
        self.revenue.push(posting.entries.revenue.nanos());
        self.loss.push(posting.entries.loss.nanos());
        self.funding.push(posting.entries.funding.nanos());
        self.balance.push(posting.balance.nanos());
        self.cargo
            .push(posting.cargo.as_deref().map(to_array_literal));
        self.reference.push(posting.reference.clone());
        self.note.push(posting.note.clone());
    }
}

/// An array of ids as a PostgreSQL literal.
fn to_array_literal(cargo: &[CargoId]) -> String {
    let ids: Vec<String> = cargo
        .iter()
        .map(|id| id.uuid().simple().to_string())
        .collect();
    format!("{{{}}}", ids.join(","))
}
