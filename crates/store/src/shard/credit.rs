//! Payments of credit by operators: posted once per reference.

use domain::id::OrganizationId;
use domain::ledger::{DoubleEntry, PostingKind};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::account;
use crate::shard::posting::{self, Posting};

/// A payment to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Above zero.
    pub amount: Money,
    pub direction: PaymentDirection,
    pub reference: Option<String>,
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentDirection {
    In,
    Out,
}

/// The result of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentResult {
    Posted {
        number: u64,
        balance: Money,
    },
    /// The same payment was posted before under this reference; nothing was changed.
    AlreadyPosted {
        number: u64,
        balance: Money,
    },
    /// Another payment has this reference.
    ReferenceUsed {
        number: u64,
    },
    /// The amount exceeds the balance minus the holds of open cargo.
    InsufficientCredit {
        available: Money,
    },
    /// The balance would exceed what an account can store.
    BalanceOverflow,
    NoAccount,
}

pub async fn pay(
    shard: &Shard,
    organization: OrganizationId,
    payment: &Payment,
    now: Timestamp,
) -> Result<PaymentResult, Error> {
    let mut tx = shard.begin().await?;
    let locked = account::lock_all(&mut tx, &[organization]).await?;
    let Some(mut account) = locked.accounts.first().copied() else {
        return Ok(PaymentResult::NoAccount);
    };
    let (kind, entries) = match payment.direction {
        PaymentDirection::In => (PostingKind::Deposit, DoubleEntry::deposit(payment.amount)),
        PaymentDirection::Out => (
            PostingKind::Withdrawal,
            DoubleEntry::withdrawal(payment.amount),
        ),
    };
    if let Some(reference) = &payment.reference
        && let Some((number, before, balance)) =
            posting::find_by_reference(&mut tx, organization, reference).await?
    {
        return Ok(if before == entries {
            PaymentResult::AlreadyPosted { number, balance }
        } else {
            PaymentResult::ReferenceUsed { number }
        });
    }
    if payment.direction == PaymentDirection::Out && payment.amount > account.available() {
        let available = account.available();
        return Ok(PaymentResult::InsufficientCredit { available });
    }
    let Some(posted) = account.posted.nanos().checked_add(entries.credit.nanos()) else {
        return Ok(PaymentResult::BalanceOverflow);
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
    Ok(PaymentResult::Posted {
        number: account.postings,
        balance: account.posted,
    })
}
