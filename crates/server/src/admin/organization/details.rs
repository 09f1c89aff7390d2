//! An organization with its credit and its monthly tokens.

use domain::account::{Account, first_day_of_month};
use domain::money::Money;
use domain::time::Timestamp;
use serde::Serialize;

use crate::admin::argument::UNLIMITED_TOKENS;
use crate::admin::organization::OrganizationView;
use crate::admin::printer::{AdminView, dollars};

#[derive(Debug, Serialize)]
pub(in crate::admin) struct OrganizationDetails {
    #[serde(flatten)]
    view: OrganizationView,
    /// None while its shard does not answer.
    credit: Option<Credit>,
    monthly_tokens: Option<MonthlyTokens>,
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
struct MonthlyTokens {
    /// None means no limit.
    quota: Option<u64>,
    /// Whether the quota was set for this organization, or comes from its plan.
    is_own: bool,
    used: u64,
    reserved: u64,
}

impl OrganizationDetails {
    pub(in crate::admin) fn new(
        view: OrganizationView,
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
            let quota = tokens.custom_quota.or(plan_tokens);
            // The first load of a month resets the row.
            let current = tokens.period == first_day_of_month(now);
            MonthlyTokens {
                quota: quota.filter(|quota| *quota != UNLIMITED_TOKENS),
                is_own: tokens.custom_quota.is_some(),
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

impl AdminView for OrganizationDetails {
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
            let origin = if tokens.is_own {
                "set for this organization"
            } else {
                "from its plan"
            };
            fields.push(("monthly quota", format!("{quota} tokens ({origin})")));
            fields.push(("tokens used", tokens.used.to_string()));
            fields.push(("tokens reserved", tokens.reserved.to_string()));
        }
        fields
    }

    fn note(&self) -> Option<&'static str> {
        self.credit.is_none().then_some(
            "The shard did not answer: credit and tokens are unknown. \
                 `longshored doctor` says more.",
        )
    }
}
