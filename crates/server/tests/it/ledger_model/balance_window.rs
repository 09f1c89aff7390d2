//! The range in which an account's balance can have been during a round.

use chrono::NaiveDate;
use store::shard::credit::PaymentResult;

use super::operation::{ExpectedHold, LedgerLoadResult, LedgerOperation, OperationResult};
use super::oracle::{ExpectedAccount, OracleCheckResult};

/// If an operation runs alone, exactly one refusal is right. With concurrent operations, a refusal
/// is right if some order of them allows it.
#[derive(Debug)]
pub(super) struct BalanceWindow {
    month: NaiveDate,
    quota: Option<u64>,
    available: (i64, i64),
    committed_tokens: (u64, u64),
}

/// A refused operation with the reason of the refusal.
#[derive(Debug)]
pub(super) enum ObservedRefusal {
    Load(ExpectedHold, LedgerLoadResult),
    Withdrawal { amount: i64, available: i64 },
}

impl BalanceWindow {
    pub(super) fn new(account: &ExpectedAccount, month: NaiveDate) -> Self {
        let available = account.available();
        let tokens = account.tokens_in_month(month);
        let committed_tokens = tokens.used + tokens.reserved;
        Self {
            month,
            quota: account.quota,
            available: (available, available),
            committed_tokens: (committed_tokens, committed_tokens),
        }
    }

    pub(super) fn place_hold(&mut self, hold: &ExpectedHold) {
        self.available.0 -= hold.amount;
        self.committed_tokens.1 += hold.tokens;
    }

    pub(super) fn apply_payment(&mut self, credit: i64) {
        self.available.0 += credit.min(0);
        self.available.1 += credit.max(0);
    }

    pub(super) fn end_hold(
        &mut self,
        hold: &ExpectedHold,
        charged: i64,
        tokens: u64,
        loaded_in: NaiveDate,
    ) {
        self.available.1 += hold.amount - charged;
        if loaded_in == self.month {
            self.committed_tokens.0 -= hold.tokens - tokens;
        }
    }

    pub(super) fn check_refusal(&self, refused: &ObservedRefusal) -> OracleCheckResult {
        let (min_available, max_available) = self.available;
        let (min_tokens, max_tokens) = self.committed_tokens;
        let is_right = match *refused {
            ObservedRefusal::Withdrawal { amount, available } => {
                amount > available && (min_available..=max_available).contains(&available)
            }
            ObservedRefusal::Load(
                hold,
                LedgerLoadResult::InsufficientCredit {
                    required,
                    available,
                },
            ) => {
                required == hold.amount
                    && required > available
                    && (min_available..=max_available).contains(&available)
                    // The quota is checked first.
                    && self.quota.is_none_or(|quota| min_tokens + hold.tokens <= quota)
            }
            ObservedRefusal::Load(
                hold,
                LedgerLoadResult::QuotaExceeded {
                    monthly,
                    committed_tokens,
                    required,
                },
            ) => {
                required == hold.tokens
                    && self.quota == Some(monthly)
                    && committed_tokens + required > monthly
                    && (min_tokens..=max_tokens).contains(&committed_tokens)
            }
            ObservedRefusal::Load(
                _,
                LedgerLoadResult::New(_)
                | LedgerLoadResult::Replay(_)
                | LedgerLoadResult::FoundOnRetry(_)
                | LedgerLoadResult::KeyReused,
            ) => true,
        };
        if is_right {
            Ok(())
        } else {
            Err(format!("{refused:?} is wrong: {self:?}"))
        }
    }
}

impl ObservedRefusal {
    /// The refusals of an operation, each with its organization.
    pub(super) fn from_result(
        operation: &LedgerOperation,
        result: &OperationResult,
    ) -> Vec<(usize, Self)> {
        match (operation, result) {
            (LedgerOperation::Load(loads), OperationResult::Loaded(loaded)) => {
                let refused = loads.iter().zip(loaded).map(|(load, loaded)| {
                    // A load without a hold is never refused.
                    let hold = load.hold.unwrap_or(ExpectedHold {
                        amount: 0,
                        price: None,
                        tokens: 0,
                    });
                    (load.organization, Self::Load(hold, *loaded))
                });
                refused.collect()
            }
            (
                LedgerOperation::Pay {
                    organization,
                    payment,
                },
                OperationResult::Paid(PaymentResult::InsufficientCredit { available }),
            ) => vec![(
                *organization,
                Self::Withdrawal {
                    amount: payment.amount.nanos(),
                    available: available.nanos(),
                },
            )],
            _ => Vec::new(),
        }
    }
}
