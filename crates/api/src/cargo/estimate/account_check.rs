//! Whether the account would accept the holds of loads now, by the rules of the writer.

use domain::account::{AccountRefusal, first_day_of_month};
use domain::hold::Hold;
use domain::key_spending::{self, CappedSpending, KeySpending, SpendingCap};
use domain::money::Money;
use domain::time::Timestamp;
use store::shard::account;
use store::shard::key_spending::list;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::state::{App, ShardHandle};

#[derive(Debug, Clone, Copy)]
pub(super) struct AccountCheck {
    /// The credit before the loads.
    pub(super) available: Money,
    /// The code of the first refusal.
    pub(super) refusal: Option<&'static str>,
}

/// Places the holds on copies of the rows, one by one.
pub(super) async fn check(
    app: &App,
    handle: &ShardHandle,
    caller: &Caller,
    holds: &[Hold],
    now: Timestamp,
) -> Result<AccountCheck, ApiError> {
    let account = account::find(&handle.shard, caller.organization).await?;
    let missing = || ApiError::internal("the organization has no account on its shard");
    let mut account = account.ok_or_else(missing)?;
    let available = account.available();
    let mut capped = match caller.spending_cap() {
        Some(cap) => Some(read_spending(handle, cap, now).await?),
        None => None,
    };
    let plan_tokens = app
        .plan_limits
        .borrow()
        .for_plan(caller.plan)
        .monthly_tokens;
    let mut refusals = holds.iter().filter_map(|hold| {
        let capped = capped.as_mut().map(|row| CappedSpending {
            spending: &mut row.spending,
            monthly: row.monthly,
        });
        key_spending::place_hold(hold, &mut account, capped, plan_tokens, now).err()
    });
    Ok(AccountCheck {
        available,
        refusal: refusals.next().map(refusal_code),
    })
}

/// The row of a capped key, read without a lock.
#[derive(Debug)]
struct CappedRow {
    spending: KeySpending,
    monthly: Money,
}

async fn read_spending(
    handle: &ShardHandle,
    cap: SpendingCap,
    now: Timestamp,
) -> Result<CappedRow, ApiError> {
    let SpendingCap { key, monthly } = cap;
    let month = first_day_of_month(now);
    let rows = list(&handle.shard, &[key], month).await?;
    let spending = rows.first().copied();
    Ok(CappedRow {
        spending: spending.unwrap_or_else(|| KeySpending::new(key, month)),
        monthly,
    })
}

const fn refusal_code(refusal: AccountRefusal) -> &'static str {
    match refusal {
        AccountRefusal::QuotaExceeded { .. } => "quota_exceeded",
        AccountRefusal::InsufficientCredit { .. } => "insufficient_credits",
        AccountRefusal::KeySpendingCapExceeded { .. } => "key_spending_cap_exceeded",
    }
}
