//! Between what and what an account can have stood while a round was under way.

use chrono::NaiveDate;
use store::shard::credit::Paid;

use super::operation::{Fact, Hold, Loaded, Operation};
use super::oracle::{Account, Checked};

/// In a round with nothing beside it there is exactly one right refusal; with others
/// beside it, a refusal is right if some order of them allows it.
#[derive(Debug)]
pub(super) struct Window {
    month: NaiveDate,
    quota: Option<u64>,
    available: (i64, i64),
    spoken_for: (u64, u64),
}

/// Something that was refused, with the reason that was given.
#[derive(Debug)]
pub(super) enum Refused {
    Load(Hold, Loaded),
    Withdrawal { amount: i64, available: i64 },
}

impl Window {
    pub(super) fn of(account: &Account, month: NaiveDate) -> Self {
        let available = account.available();
        let tokens = account.month(month);
        let spoken_for = tokens.used + tokens.reserved;
        Self {
            month,
            quota: account.quota,
            available: (available, available),
            spoken_for: (spoken_for, spoken_for),
        }
    }

    pub(super) fn placed(&mut self, hold: &Hold) {
        self.available.0 -= hold.amount;
        self.spoken_for.1 += hold.tokens;
    }

    pub(super) fn paid(&mut self, credit: i64) {
        self.available.0 += credit.min(0);
        self.available.1 += credit.max(0);
    }

    pub(super) fn ended(&mut self, hold: &Hold, charged: i64, tokens: u64, loaded_in: NaiveDate) {
        self.available.1 += hold.amount - charged;
        if loaded_in == self.month {
            self.spoken_for.0 -= hold.tokens - tokens;
        }
    }

    pub(super) fn allows(&self, refused: &Refused) -> Checked {
        let (poorest, richest) = self.available;
        let (fewest, most) = self.spoken_for;
        let right = match *refused {
            Refused::Withdrawal { amount, available } => {
                amount > available && (poorest..=richest).contains(&available)
            }
            Refused::Load(
                hold,
                Loaded::NoCredit {
                    required,
                    available,
                },
            ) => {
                required == hold.amount
                    && required > available
                    && (poorest..=richest).contains(&available)
                    // The quota is asked first.
                    && self.quota.is_none_or(|quota| fewest + hold.tokens <= quota)
            }
            Refused::Load(
                hold,
                Loaded::NoQuota {
                    monthly,
                    spoken_for,
                    required,
                },
            ) => {
                required == hold.tokens
                    && self.quota == Some(monthly)
                    && spoken_for + required > monthly
                    && (fewest..=most).contains(&spoken_for)
            }
            Refused::Load(
                _,
                Loaded::New(_) | Loaded::Replay(_) | Loaded::Found(_) | Loaded::KeyReused,
            ) => true,
        };
        if right {
            Ok(())
        } else {
            Err(format!("{refused:?} is wrong: {self:?}"))
        }
    }
}

impl Refused {
    /// What was refused of an operation, and to which organization.
    pub(super) fn of(operation: &Operation, fact: &Fact) -> Vec<(usize, Self)> {
        match (operation, fact) {
            (Operation::Load(loads), Fact::Loaded(loaded)) => {
                let refused = loads.iter().zip(loaded).map(|(load, loaded)| {
                    // Nothing is refused that holds nothing.
                    let hold = load.hold.unwrap_or(Hold {
                        amount: 0,
                        price: None,
                        tokens: 0,
                    });
                    (load.organization, Self::Load(hold, *loaded))
                });
                refused.collect()
            }
            (
                Operation::Pay {
                    organization,
                    payment,
                },
                Fact::Paid(Paid::TooLittle { available }),
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
