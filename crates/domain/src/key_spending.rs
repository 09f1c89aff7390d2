//! The spending of an API key in a month, for keys with a monthly spending cap.
//!
//! The row is read and written only while the account of its organization is locked, so no other
//! transaction can change it in between. A hold counts in the month of its load, also when it is
//! settled later.

use chrono::NaiveDate;

use crate::account::{Account, AccountRefusal, next_month};
use crate::hold::Hold;
use crate::id::ApiKeyId;
use crate::money::Money;
use crate::time::Timestamp;

/// The most that a key may spend in a calendar month (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendingCap {
    /// The key whose row counts. A rotated key keeps the row of its predecessor, so that rotation
    /// does not start a new budget.
    pub key: ApiKeyId,
    pub monthly: Money,
}

/// The row of a key and a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpending {
    pub key: ApiKeyId,
    /// The first day of the month.
    pub month: NaiveDate,
    /// Set aside for cargo in flight.
    pub held: Money,
    pub spent: Money,
}

impl KeySpending {
    pub const fn new(key: ApiKeyId, month: NaiveDate) -> Self {
        Self {
            key,
            month,
            held: Money::ZERO,
            spent: Money::ZERO,
        }
    }

    /// Adds a hold, unless it could lead beyond the cap. A refusal changes nothing.
    pub fn place_hold(&mut self, required: Money, cap: Money) -> Result<(), AccountRefusal> {
        let spoken_for = self.spent + self.held;
        if required > cap - spoken_for {
            return Err(AccountRefusal::KeySpendingCapExceeded {
                cap,
                spoken_for,
                required,
                resets_at: next_month(self.month),
            });
        }
        self.held = self.held + required;
        Ok(())
    }

    /// Replaces a hold by what was charged for it.
    pub fn end_hold(&mut self, held: Money, charged: Money) {
        self.held = self.held - held;
        self.spent = self.spent + charged;
    }
}

/// The row of a key with a spending cap.
#[derive(Debug)]
pub struct CappedSpending<'a> {
    pub spending: &'a mut KeySpending,
    pub monthly: Money,
}

/// Places a hold on the account and, if it costs anything, on the row of a capped key: on both or
/// on neither.
pub fn place_hold(
    hold: &Hold,
    account: &mut Account,
    capped: Option<CappedSpending<'_>>,
    plan_tokens: Option<u64>,
    now: Timestamp,
) -> Result<(), AccountRefusal> {
    let before = *account;
    account.place_hold(hold, plan_tokens, now)?;
    match capped {
        Some(CappedSpending { spending, monthly }) if !hold.amount.is_zero() => {
            let placed = spending.place_hold(hold.amount, monthly);
            placed.inspect_err(|_| *account = before)
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;
    use crate::account::first_day_of_month;

    fn january() -> KeySpending {
        let now = DateTime::from_timestamp_micros(1_769_000_000_000_000).unwrap();
        KeySpending::new(
            ApiKeyId::from_uuid(uuid::Uuid::nil()),
            first_day_of_month(now),
        )
    }

    #[test]
    fn a_cap_is_exact_to_the_nano_dollar() {
        let mut spending = january();
        let cap = Money(100);
        assert_eq!(spending.place_hold(Money(60), cap), Ok(()));
        assert_eq!(
            spending.place_hold(Money(41), cap),
            Err(AccountRefusal::KeySpendingCapExceeded {
                cap,
                spoken_for: Money(60),
                required: Money(41),
                resets_at: DateTime::parse_from_rfc3339("2026-02-01T00:00:00Z")
                    .unwrap()
                    .to_utc(),
            })
        );
        assert_eq!(spending.place_hold(Money(40), cap), Ok(()));
        spending.end_hold(Money(60), Money(1));
        assert_eq!((spending.held, spending.spent), (Money(40), Money(1)));
        assert!(spending.place_hold(Money(60), cap).is_err());
        assert_eq!(spending.place_hold(Money(59), cap), Ok(()));
    }

    proptest! {
        /// Each step places a hold, or settles the oldest one at a part of its amount.
        #[test]
        fn holds_and_charges_never_exceed_the_cap(
            cap in 0..10_000_i64,
            steps in prop::collection::vec((any::<bool>(), 0..2000_i64, 0..=100_i64), 0..200),
        ) {
            let mut spending = january();
            let mut open = std::collections::VecDeque::new();
            let (mut held, mut spent) = (0, 0);
            for (places, amount, percent) in steps {
                if places {
                    let fits = spent + held + amount <= cap;
                    prop_assert_eq!(spending.place_hold(Money(amount), Money(cap)).is_ok(), fits);
                    if fits {
                        open.push_back(amount);
                        held += amount;
                    }
                } else if let Some(amount) = open.pop_front() {
                    let charged = amount * percent / 100;
                    spending.end_hold(Money(amount), Money(charged));
                    (held, spent) = (held - amount, spent + charged);
                }
                prop_assert_eq!((spending.held, spending.spent), (Money(held), Money(spent)));
                prop_assert!(held + spent <= cap);
            }
            for amount in open {
                spending.end_hold(Money(amount), Money::ZERO);
            }
            prop_assert_eq!((spending.held, spending.spent), (Money::ZERO, Money(spent)));
        }
    }
}
