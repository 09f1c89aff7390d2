//! `GET /whoami`: the key of the request, its project and organization, and what they may use.

use axum::Json;
use axum::extract::State;
use domain::account::first_day_of_month;
use domain::key_scope::KeyRight;
use domain::key_spending::{KeySpending, SpendingCap};
use domain::money::Money;
use domain::time::Timestamp;
use store::Shard;
use store::control::api_key::ApiKeyRow;
use store::shard::{account, key_spending};
use wire::timestamp::WireTimestamp;
use wire::whoami::{
    BalanceBody, CallerLimitsBody, KeyIdentityBody, MonthlyTokensBody, OrganizationIdentityBody,
    ProjectIdentityBody, SpendingCapBody, WhoAmIResponse,
};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::state::App;

pub(crate) async fn whoami(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
) -> Result<Json<WhoAmIResponse>, ApiError> {
    app.route_limiter.count_identity_read(caller.project)?;
    let identity = app.identities.find(&caller).await?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let account = account::find(shard, caller.organization).await?;
    let account = account.ok_or_else(|| ApiError::internal("the organization has no account"))?;
    let tokens = account.tokens.in_month_of(now);
    let resets_at = tokens.resets_at();
    let spending = match identity.key.scope.spending_cap {
        Some(cap) => Some(spending_cap(
            cap,
            read_spending(shard, cap, now).await?,
            resets_at,
        )),
        None => None,
    };
    let limits = app.plan_limits.borrow().for_plan(caller.plan);
    Ok(Json(WhoAmIResponse {
        key: key_identity(identity.key, spending),
        project: ProjectIdentityBody {
            id: identity.project.id.to_string(),
            slug: identity.project.slug.to_string(),
        },
        organization: OrganizationIdentityBody {
            id: identity.organization.id.to_string(),
            name: identity.organization.name,
            plan: caller.plan.as_str(),
        },
        limits: CallerLimitsBody {
            burst: limits.rate.burst,
            sustained_requests_per_minute: limits.rate.per_minute,
        },
        tokens: MonthlyTokensBody {
            monthly: tokens.custom_quota.or(limits.monthly_tokens),
            used: tokens.used,
            reserved: tokens.reserved,
            resets_at: WireTimestamp(resets_at),
        },
        balance: BalanceBody {
            available: nanos(account.available()),
            held: nanos(account.held),
            currency: "USD",
            scale: 9,
        },
    }))
}

/// The row of the month. There is none before the first load.
async fn read_spending(
    shard: &Shard,
    cap: SpendingCap,
    now: Timestamp,
) -> Result<KeySpending, ApiError> {
    let month = first_day_of_month(now);
    let rows = key_spending::list(shard, &[cap.key], month).await?;
    let row = rows.into_iter().next();
    Ok(row.unwrap_or_else(|| KeySpending::new(cap.key, month)))
}

fn spending_cap(cap: SpendingCap, spending: KeySpending, resets_at: Timestamp) -> SpendingCapBody {
    SpendingCapBody {
        monthly: nanos(cap.monthly),
        spent: nanos(spending.spent),
        held: nanos(spending.held),
        resets_at: WireTimestamp(resets_at),
        currency: "USD",
        scale: 9,
    }
}

fn key_identity(key: ApiKeyRow, spending_cap: Option<SpendingCapBody>) -> KeyIdentityBody {
    let rights = key.scope.rights.unwrap_or_else(|| KeyRight::ALL.to_vec());
    let addresses = key.scope.addresses;
    KeyIdentityBody {
        id: key.id.to_string(),
        name: key.name,
        prefix: key.prefix,
        created_at: WireTimestamp(key.created_at),
        expires_at: key.expires_at.map(WireTimestamp),
        rights: rights.into_iter().map(KeyRight::as_str).collect(),
        models: key.scope.models,
        addresses: addresses.map(|ranges| ranges.iter().map(ToString::to_string).collect()),
        spending_cap,
    }
}

fn nanos(money: Money) -> u64 {
    u64::try_from(money.nanos()).unwrap_or_default()
}
