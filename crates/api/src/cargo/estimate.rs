//! `POST /cargo/estimate`: what loads would cost, and when they would end. Nothing is stored.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::{Request, State};
use domain::hold::Hold;
use domain::key_scope::KeyRight;
use domain::lane::Lane;
use domain::load_estimate::{self, EstimatedLoad, ModelLoads};
use domain::time::Timestamp;
use wire::estimate::EstimateResponse;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::cargo::bulk;
use crate::cargo::estimate::item_checks::{CheckedItems, EstimatedItem, RequestedItems};
use crate::request_body::BufferedBody;
use crate::state::{App, ShardHandle};

mod account_check;
mod item_checks;
mod loading_time;
mod turnaround;

/// The body is one load, or a bulk load.
pub(crate) async fn estimate(
    caller: Caller,
    State(app): State<App>,
    request: Request,
) -> Result<Json<EstimateResponse>, ApiError> {
    app.route_limiter.count_estimate(caller.organization)?;
    // An estimate makes the checks of a load, so it counts as the loads would.
    app.limiter.count_request(caller.project).await?;
    let is_ndjson = bulk::is_ndjson(request.headers());
    let BufferedBody(body) = BufferedBody::read(request, app.max_body_bytes).await?;
    let requested = if is_ndjson || bulk::is_bulk_object(&body) {
        if body.len() > bulk::MAX_BULK_BYTES {
            return Err(ApiError::too_large(bulk::MAX_BULK_BYTES));
        }
        let items = bulk::split(&body, is_ndjson)?;
        bulk::count_further_hundreds(&app, caller.project, items.len()).await?;
        RequestedItems::Bulk(items)
    } else {
        RequestedItems::Single(body)
    };
    let checked = item_checks::check_items(&app, &caller, requested).await?;
    let response = Box::pin(answer(&app, &caller, checked)).await?;
    Ok(Json(response))
}

async fn answer(
    app: &App,
    caller: &Caller,
    checked: CheckedItems,
) -> Result<EstimateResponse, ApiError> {
    let CheckedItems { valid, faults } = checked;
    let items = valid.len() + faults.len();
    let handle = app.shard_handle(caller.berth)?;
    let now = handle.shard.clock.now();
    let holds: Vec<Hold> = valid.iter().map(|item| item.load.hold).collect();
    let lanes: BTreeSet<Lane> = valid.iter().map(|item| item.lane.clone()).collect();
    let models = group_by_model(app, handle, caller, valid, now).await?;
    let estimate = load_estimate::estimate(&models);
    let loading = loading_time::find(app, caller, holds.len()).await;
    let account = account_check::check(app, handle, caller, &holds, now).await?;
    let balance = (account.available - estimate.hold).nanos();
    let limited = loading.is_limited.then_some("rate_limit_exceeded");
    Ok(EstimateResponse {
        items,
        faults,
        hold: (&estimate).into(),
        cost: (&estimate).into(),
        tokens: (&estimate).into(),
        turnaround: turnaround::find(app, handle, &lanes, loading.seconds, now).await,
        based_on: (&estimate).into(),
        // Loads are checked in this order.
        refused_by: limited.or(account.refusal),
        balance_after_hold: may_read(caller).then_some(balance),
    })
}

/// The balance is read with `GET /whoami`, which needs this right.
fn may_read(caller: &Caller) -> bool {
    let rights = caller.scope().and_then(|scope| scope.rights.as_ref());
    rights.is_none_or(|rights| rights.contains(&KeyRight::Read))
}

async fn group_by_model(
    app: &App,
    handle: &ShardHandle,
    caller: &Caller,
    items: Vec<EstimatedItem>,
    now: Timestamp,
) -> Result<Vec<ModelLoads>, ApiError> {
    let mut loads: BTreeMap<String, Vec<EstimatedLoad>> = BTreeMap::new();
    for item in items {
        loads.entry(item.lane.model).or_default().push(item.load);
    }
    let mut models = Vec::with_capacity(loads.len());
    for (model, loads) in loads {
        let profiles = &app.usage_profiles;
        let profile = profiles.find(&handle.shard, caller, &model, now).await?;
        models.push(ModelLoads { profile, loads });
    }
    Ok(models)
}
