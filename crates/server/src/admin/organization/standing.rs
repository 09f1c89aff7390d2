//! An organization with its credit and the tokens of its month.

use domain::account::{Account, month};
use domain::money::Money;
use domain::time::Timestamp;
use serde::Serialize;

use crate::admin::argument::UNLIMITED;
use crate::admin::organization::View;
use crate::admin::printer::{Shown, dollars};

#[derive(Debug, Serialize)]
pub(in crate::admin) struct Standing {
    #[serde(flatten)]
    view: View,
    /// Nothing while its shard does not answer.
    credit: Option<Credit>,
    monthly_tokens: Option<Tokens>,
}

#[derive(Debug, Serialize)]
struct Credit {
    posted: i64,
    held: i64,
    available: i64,
    currency: &'static str,
    scale: u8,
}

#[derive(Debug, Serialize)]
struct Tokens {
    /// Nothing is no limit.
    quota: Option<u64>,
    /// Whether the quota is its own, or its plan's.
    is_own: bool,
    used: u64,
    reserved: u64,
}

impl Standing {
    pub(in crate::admin) fn new(
        view: View,
        account: Option<Account>,
        plan_tokens: Option<u64>,
        now: Timestamp,
    ) -> Self {
        let credit = account.map(|account| Credit {
            posted: account.posted.nanos(),
            held: account.held.nanos(),
            available: account.available().nanos(),
            currency: "USD",
            scale: 9,
        });
        let tokens = account.map(|account| {
            let tokens = account.tokens;
            let quota = tokens.own.or(plan_tokens);
            // The row turns with the first load of a month.
            let current = tokens.period == month(now);
            Tokens {
                quota: quota.filter(|quota| *quota != UNLIMITED),
                is_own: tokens.own.is_some(),
                used: if current { tokens.used } else { 0 },
                reserved: if current { tokens.reserved } else { 0 },
            }
        });
        Self {
            view,
            credit,
            monthly_tokens: tokens,
        }
    }
}

impl Shown for Standing {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = self.view.fields();
        if let Some(credit) = &self.credit {
            fields.push(("credit posted", dollars(Money(credit.posted))));
            fields.push(("credit held", dollars(Money(credit.held))));
            fields.push(("credit available", dollars(Money(credit.available))));
        }
        if let Some(tokens) = &self.monthly_tokens {
            let quota = tokens
                .quota
                .map_or_else(|| "unlimited".to_owned(), |quota| quota.to_string());
            let whose = if tokens.is_own {
                "its own"
            } else {
                "its plan's"
            };
            fields.push(("monthly quota", format!("{quota} tokens ({whose})")));
            fields.push(("tokens used", tokens.used.to_string()));
            fields.push(("tokens reserved", tokens.reserved.to_string()));
        }
        fields
    }

    fn remark(&self) -> Option<&'static str> {
        self.credit
            .is_none()
            .then_some("Its shard did not answer: what it has and uses is not known. `longshored doctor` says more.")
    }
}
