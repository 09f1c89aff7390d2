//! The account row of an organization. Every group of its loads locks it first, and every group
//! of its outcomes locks it last.

use chrono::NaiveDate;
use domain::account::{Account, MonthlyTokenQuota};
use domain::id::OrganizationId;
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;

/// Opens the account of a new organization. Called before its control row is written; may be
/// repeated.
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

/// The accounts that a group has locked.
#[derive(Debug)]
pub struct LockedAccounts {
    pub accounts: Vec<Account>,
    /// By the shard's clock, read after the last lock was taken.
    pub locked_at: Option<Timestamp>,
}

struct Row {
    organization: Uuid,
    posted: i64,
    held: i64,
    postings: i64,
    monthly_tokens: Option<i64>,
    period: NaiveDate,
    tokens_used: i64,
    tokens_reserved: i64,
    told: Timestamp,
}

/// All transactions lock in the same order, so they never deadlock. The clock is read after the
/// locks are taken, so loads of an organization get ids in commit order.
macro_rules! lock {
    ($tx:expr, $organizations:expr, $how:literal) => {
        sqlx::query_as!(
            Row,
            r#"with locked as materialized (
                   select * from shard.account
                   where organization = any($1)
                   order by organization
                   for no key update "#
                + $how
                + r#")
               select organization as "organization!", posted as "posted!", held as "held!",
                   postings as "postings!", monthly_tokens, period as "period!",
                   tokens_used as "tokens_used!", tokens_reserved as "tokens_reserved!",
                   clock_timestamp() as "told!"
               from locked"#,
            $organizations
        )
        .fetch_all(&mut **$tx)
        .await
    };
}

/// Locks the accounts that are free and skips those that another group has locked.
pub async fn try_lock(
    tx: &mut Transaction,
    organizations: &[OrganizationId],
) -> Result<LockedAccounts, Error> {
    let organizations = uuids(organizations);
    LockedAccounts::from_rows(lock!(tx, &organizations, "skip locked")?)
}

/// Locks all accounts, and waits for groups that have locked one.
pub async fn lock_all(
    tx: &mut Transaction,
    organizations: &[OrganizationId],
) -> Result<LockedAccounts, Error> {
    let organizations = uuids(organizations);
    LockedAccounts::from_rows(lock!(tx, &organizations, "")?)
}

fn uuids(organizations: &[OrganizationId]) -> Vec<Uuid> {
    organizations.iter().map(|id| id.uuid()).collect()
}

impl LockedAccounts {
    fn from_rows(rows: Vec<Row>) -> Result<Self, Error> {
        let told = rows.iter().map(|row| row.told).max();
        let accounts = rows.into_iter().map(Account::try_from);
        Ok(Self {
            locked_at: told,
            accounts: accounts.collect::<Result<_, _>>()?,
        })
    }
}

/// One account, without a lock.
pub async fn find(shard: &Shard, organization: OrganizationId) -> Result<Option<Account>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select organization, posted, held, postings, monthly_tokens, period, tokens_used,
               tokens_reserved, clock_timestamp() as "told!"
           from shard.account where organization = $1"#,
        organization.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    row.map(Account::try_from).transpose()
}

/// Sets an organization's monthly token quota; without one the plan's quota applies. False when
/// it has no account.
pub async fn set_monthly_tokens(
    shard: &Shard,
    organization: OrganizationId,
    own: Option<u64>,
) -> Result<bool, Error> {
    let changed = sqlx::query!(
        "update shard.account set monthly_tokens = $2 where organization = $1",
        organization.uuid(),
        own.map(signed)
    )
    .execute(&shard.pool)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Accounts as arrays of columns, for statements that write many rows at once.
#[derive(Debug, Default)]
pub(crate) struct AccountColumns {
    pub(crate) organization: Vec<Uuid>,
    pub(crate) posted: Vec<i64>,
    pub(crate) held: Vec<i64>,
    pub(crate) postings: Vec<i64>,
    pub(crate) period: Vec<NaiveDate>,
    pub(crate) tokens_used: Vec<i64>,
    pub(crate) tokens_reserved: Vec<i64>,
}

impl AccountColumns {
    pub(crate) fn push(&mut self, account: &Account) {
        self.organization.push(account.organization.uuid());
        self.posted.push(account.posted.nanos());
        self.held.push(account.held.nanos());
        self.postings.push(signed(account.postings));
        self.period.push(account.tokens.period);
        self.tokens_used.push(signed(account.tokens.used));
        self.tokens_reserved.push(signed(account.tokens.reserved));
    }
}

/// Writes accounts that this transaction has locked.
pub async fn write(tx: &mut Transaction, accounts: &[Account]) -> Result<(), Error> {
    if accounts.is_empty() {
        return Ok(());
    }
    let mut columns = AccountColumns::default();
    for account in accounts {
        columns.push(account);
    }
    sqlx::query!(
        "update shard.account
         set posted = decided.posted, held = decided.held, postings = decided.postings,
             period = decided.period, tokens_used = decided.tokens_used,
             tokens_reserved = decided.tokens_reserved
         from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::date[],
                 $6::bigint[], $7::bigint[])
             as decided (organization, posted, held, postings, period, tokens_used, tokens_reserved)
         where account.organization = decided.organization",
        &columns.organization,
        &columns.posted,
        &columns.held,
        &columns.postings,
        &columns.period,
        &columns.tokens_used,
        &columns.tokens_reserved
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

impl TryFrom<Row> for Account {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let unsigned = |count: i64, column| {
            u64::try_from(count).map_err(|_| Error::Corrupt {
                table: "account",
                column,
            })
        };
        let own = row
            .monthly_tokens
            .map(|tokens| unsigned(tokens, "monthly_tokens"));
        Ok(Self {
            organization: row.organization.into(),
            posted: Money(row.posted),
            held: Money(row.held),
            postings: unsigned(row.postings, "postings")?,
            tokens: MonthlyTokenQuota {
                custom_quota: own.transpose()?,
                period: row.period,
                used: unsigned(row.tokens_used, "tokens_used")?,
                reserved: unsigned(row.tokens_reserved, "tokens_reserved")?,
            },
        })
    }
}
