//! An organization's account on its shard: credit, and the tokens of the month.
//!
//! The row is locked for every group of loads and for every group of outcomes,
//! so what is decided here is what happens.

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
    /// Of that, set aside for cargo under way.
    pub held: Money,
    /// How many postings the ledger has for it.
    pub postings: u64,
    pub tokens: Tokens,
}

/// What counts toward the monthly quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// The organization's own quota; without one its plan's applies.
    pub own: Option<u64>,
    /// The first day of the month that `used` and `reserved` are of.
    pub period: NaiveDate,
    pub used: u64,
    pub reserved: u64,
}

/// Why an account cannot take a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountRefusal {
    QuotaExceeded {
        monthly: u64,
        /// Used, or reserved for cargo under way.
        spoken_for: u64,
        required: u64,
        resets_at: Timestamp,
    },
    InsufficientCredit {
        required: Money,
        available: Money,
    },
}

impl Account {
    pub fn available(&self) -> Money {
        self.posted - self.held
    }

    /// Places a hold. Asked load by load, in the order in which the loads came.
    pub fn place(
        &mut self,
        hold: &Hold,
        plan_tokens: Option<u64>,
        now: Timestamp,
    ) -> Result<(), AccountRefusal> {
        if hold.tokens > 0 {
            self.tokens.turn_to(month(now));
            self.tokens.room_for(hold.tokens, plan_tokens)?;
        }
        if hold.amount > self.available() {
            return Err(AccountRefusal::InsufficientCredit {
                required: hold.amount,
                available: self.available(),
            });
        }
        // A clock that is a moment behind the month's turn reserves nothing in the new
        // month: nobody would give it back.
        if self.tokens.period == month(now) {
            self.tokens.reserved = self.tokens.reserved.saturating_add(hold.tokens);
        }
        self.held = self.held + hold.amount;
        Ok(())
    }

    /// Ends a hold that was placed at `placed_at`. What it reserved is settled in the month
    /// of then; once that month is over it no longer matters.
    pub fn end(&mut self, hold: &Hold, settlement: &Settlement, placed_at: Timestamp) {
        self.held = self.held - hold.amount;
        self.posted = self.posted - settlement.charged;
        if self.tokens.period == month(placed_at) {
            self.tokens.reserved = self.tokens.reserved.saturating_sub(hold.tokens);
            self.tokens.used = self.tokens.used.saturating_add(settlement.tokens);
        }
    }
}

impl Tokens {
    /// As they stand in a moment's month: what an earlier month counted is over.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        self.turn_to(month(now));
        self
    }

    /// When they are counted from nothing again.
    pub fn resets_at(&self) -> Timestamp {
        after(self.period)
    }

    fn turn_to(&mut self, period: NaiveDate) {
        if period > self.period {
            self.period = period;
            self.used = 0;
            self.reserved = 0;
        }
    }

    fn room_for(&self, required: u64, plan_tokens: Option<u64>) -> Result<(), AccountRefusal> {
        let Some(monthly) = self.own.or(plan_tokens) else {
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
            resets_at: after(self.period),
        })
    }
}

/// The first day of a moment's month (UTC).
pub fn month(moment: Timestamp) -> NaiveDate {
    let day = moment.date_naive();
    day.with_day(1).unwrap_or(day)
}

/// When the next month begins.
fn after(period: NaiveDate) -> Timestamp {
    let next = period.checked_add_months(Months::new(1)).unwrap_or(period);
    next.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests;
