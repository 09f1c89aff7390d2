//! An organization's account on its shard: credit, and the tokens of the month.
//!
//! The row is locked for every group of loads and for every group of outcomes,
//! so no other transaction can change it in between.

use chrono::{Datelike as _, Months, NaiveDate, NaiveTime};

use crate::hold::{Hold, Settlement};
use crate::id::OrganizationId;
use crate::money::Money;
use crate::time::Timestamp;

/// The locked row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub organization: OrganizationId,
    /// Paid in and not yet charged.
    pub posted: Money,
    /// Of that, set aside for cargo in flight.
    pub held: Money,
    /// How many postings the ledger has for it.
    pub postings: u64,
    pub tokens: MonthlyTokenQuota,
}

/// The monthly token quota, and what counts toward it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthlyTokenQuota {
    /// The quota of this organization; without one, the plan's applies.
    pub custom_quota: Option<u64>,
    /// The first day of the month that `used` and `reserved` belong to.
    pub period: NaiveDate,
    pub used: u64,
    pub reserved: u64,
}

/// Why an account refuses a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountRefusal {
    QuotaExceeded {
        monthly: u64,
        /// Used, or reserved for cargo in flight.
        spoken_for: u64,
        required: u64,
        resets_at: Timestamp,
    },
    InsufficientCredit {
        required: Money,
        available: Money,
    },
    /// The monthly spending cap of the API key.
    KeySpendingCapExceeded {
        cap: Money,
        /// Spent, or held for cargo in flight.
        spoken_for: Money,
        required: Money,
        resets_at: Timestamp,
    },
}

impl Account {
    pub fn available(&self) -> Money {
        self.posted - self.held
    }

    /// Places a hold. Loads are checked one by one, in the order in which they arrived.
    pub fn place_hold(
        &mut self,
        hold: &Hold,
        plan_tokens: Option<u64>,
        now: Timestamp,
    ) -> Result<(), AccountRefusal> {
        if hold.tokens > 0 {
            self.tokens.roll_over_to(first_day_of_month(now));
            self.tokens.check_room_for(hold.tokens, plan_tokens)?;
        }
        if hold.amount > self.available() {
            return Err(AccountRefusal::InsufficientCredit {
                required: hold.amount,
                available: self.available(),
            });
        }
        // A clock slightly behind the turn of the month reserves nothing in the new month:
        // the reservation would never be released.
        if self.tokens.period == first_day_of_month(now) {
            self.tokens.reserved = self.tokens.reserved.saturating_add(hold.tokens);
        }
        self.held = self.held + hold.amount;
        Ok(())
    }

    /// Ends a hold that was placed at `placed_at`. Its reservation is settled in the month of
    /// `placed_at`; once that month is over, the reservation no longer counts.
    pub fn end_hold(&mut self, hold: &Hold, settlement: &Settlement, placed_at: Timestamp) {
        self.held = self.held - hold.amount;
        self.posted = self.posted - settlement.charged;
        if self.tokens.period == first_day_of_month(placed_at) {
            self.tokens.reserved = self.tokens.reserved.saturating_sub(hold.tokens);
            self.tokens.used = self.tokens.used.saturating_add(settlement.tokens);
        }
    }
}

impl MonthlyTokenQuota {
    /// The quota as of `now`: the counts of an earlier month are reset.
    #[must_use]
    pub fn in_month_of(mut self, now: Timestamp) -> Self {
        self.roll_over_to(first_day_of_month(now));
        self
    }

    /// When the quota resets.
    pub fn resets_at(&self) -> Timestamp {
        next_month(self.period)
    }

    fn roll_over_to(&mut self, period: NaiveDate) {
        if period > self.period {
            self.period = period;
            self.used = 0;
            self.reserved = 0;
        }
    }

    fn check_room_for(
        &self,
        required: u64,
        plan_tokens: Option<u64>,
    ) -> Result<(), AccountRefusal> {
        let Some(monthly) = self.custom_quota.or(plan_tokens) else {
            return Ok(());
        };
        let spoken_for = self.used.saturating_add(self.reserved);
        if spoken_for.saturating_add(required) <= monthly {
            return Ok(());
        }
        Err(AccountRefusal::QuotaExceeded {
            monthly,
            spoken_for,
            required,
            resets_at: next_month(self.period),
        })
    }
}

/// The first day of the month (UTC).
pub fn first_day_of_month(moment: Timestamp) -> NaiveDate {
    let day = moment.date_naive();
    day.with_day(1).unwrap_or(day)
}

/// When the next month begins.
pub(crate) fn next_month(period: NaiveDate) -> Timestamp {
    let next = period.checked_add_months(Months::new(1)).unwrap_or(period);
    next.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests;
