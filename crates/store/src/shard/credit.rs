//! Credit paid in and out, by people: posted once for each reference.

use domain::id::OrganizationId;
use domain::ledger::{Entries, Kind};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::account;
use crate::shard::posting::{self, Posting};

/// A payment, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Above nothing.
    pub amount: Money,
    pub direction: Direction,
    pub reference: Option<String>,
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paid {
    Posted {
        number: u64,
        balance: Money,
    },
    /// It was posted before under this reference; nothing was changed.
    Before {
        number: u64,
        balance: Money,
    },
    /// The reference belongs to another amount.
    ReferenceUsed {
        number: u64,
    },
    /// More than is available: the rest is held for cargo under way, or was never there.
    TooLittle {
        available: Money,
    },
    /// More than an account can hold.
    TooMuch,
    NoAccount,
}

pub async fn pay(
    shard: &Shard,
    organization: OrganizationId,
    payment: &Payment,
    now: Timestamp,
) -> Result<Paid, Error> {
    let mut tx = shard.begin().await?;
    let locked = account::lock_waiting(&mut tx, &[organization]).await?;
    let Some(mut account) = locked.accounts.first().copied() else {
        return Ok(Paid::NoAccount);
    };
    let (kind, entries) = match payment.direction {
        Direction::In => (Kind::Deposit, Entries::deposit(payment.amount)),
        Direction::Out => (Kind::Withdrawal, Entries::withdrawal(payment.amount)),
    };
    if let Some(reference) = &payment.reference
        && let Some((number, before, balance)) =
            posting::referred(&mut tx, organization, reference).await?
    {
        return Ok(if before == entries {
            Paid::Before { number, balance }
        } else {
            Paid::ReferenceUsed { number }
        });
    }
    if payment.direction == Direction::Out && payment.amount > account.available() {
        let available = account.available();
        return Ok(Paid::TooLittle { available });
    }
    let Some(posted) = account.posted.nanos().checked_add(entries.credit.nanos()) else {
        return Ok(Paid::TooMuch);
    };
    account.posted = Money(posted);
    account.postings += 1;
    account::write(&mut tx, &[account]).await?;
    let posting = Posting {
        organization,
        number: account.postings,
        kind,
        at: now,
        entries,
        balance: account.posted,
        cargo: None,
        reference: payment.reference.clone(),
        note: payment.note.clone(),
    };
    posting::append(&mut tx, &[posting]).await?;
    tx.commit().await?;
    Ok(Paid::Posted {
        number: account.postings,
        balance: account.posted,
    })
}
