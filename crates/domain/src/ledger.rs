//! The double-entry ledger: postings across four accounts that always sum to zero.
//!
//! ```text
//! deposit      funding ──▶ credit            what a customer paid in
//! withdrawal   credit  ──▶ funding           what was paid back
//! settlement   credit  ──▶ revenue           what a finished cargo cost
//!              loss    ──▶ revenue           and what it cost beyond its hold
//! ```

use crate::money::Money;

/// Why a balance changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostingKind {
    Deposit,
    Withdrawal,
    Settlement,
}

impl PostingKind {
    pub const ALL: [Self; 3] = [Self::Deposit, Self::Withdrawal, Self::Settlement];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
            Self::Settlement => "settlement",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One posting: the change of each account. The changes sum to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DoubleEntry {
    /// What we owe the organization.
    pub credit: Money,
    pub revenue: Money,
    pub loss: Money,
    /// Where money comes from and goes back to.
    pub funding: Money,
}

impl DoubleEntry {
    pub fn deposit(amount: Money) -> Self {
        Self {
            credit: amount,
            funding: -amount,
            ..Self::default()
        }
    }

    pub fn withdrawal(amount: Money) -> Self {
        Self::deposit(-amount)
    }

    pub fn settlement(charged: Money, lost: Money) -> Self {
        Self {
            credit: -charged,
            revenue: charged + lost,
            loss: -lost,
            ..Self::default()
        }
    }

    pub fn sum(self) -> Money {
        self.credit + self.revenue + self.loss + self.funding
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_sum_to_zero(amount in 0..=i64::MAX / 4, lost in 0..=i64::MAX / 4) {
            let (amount, lost) = (Money(amount), Money(lost));
            for entries in [DoubleEntry::deposit(amount), DoubleEntry::withdrawal(amount), DoubleEntry::settlement(amount, lost)] {
                prop_assert_eq!(entries.sum(), Money::ZERO);
            }
        }
    }
}
