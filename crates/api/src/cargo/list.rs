//! `GET /cargo`: a project's cargo, newest first, in pages.

use axum::Json;
use axum::extract::State;
use domain::cargo::CallbackState;
use domain::id::{CargoId, GroupId};
use domain::saving::Saving;
use http::Uri;
use store::view::cargo::CargoListItem;
use store::view::cargo_search::{self, CargoSearchPage};
use store::view::cargo_summary::{self, CargoSummary};
use wire::cargo_list::{
    CallbackStatusBody, CallbackSummaryBody, CargoListResponse, CargoSummaryBody,
};
use wire::timestamp::WireTimestamp;
use wire::tracking::{CostBody, raw_json};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::cargo::list_query::parse_cargo_list_query;
use crate::cursor::encode_cursor;
use crate::state::App;

pub(crate) async fn list(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<CargoListResponse>, ApiError> {
    let query = parse_cargo_list_query(&uri)?;
    let (shard, project) = (&app.shard_handle(caller.berth)?.shard, caller.project);
    // An id of another berth names no group of the caller, as in the other routes.
    let is_foreign = |group: GroupId| group.berth() != caller.berth;
    let page = if query.search.group.is_some_and(is_foreign) {
        CargoSearchPage::default()
    } else {
        cargo_search::find(shard, project, &query.search, query.limit).await?
    };
    let ids: Vec<CargoId> = page.cargo.iter().map(|cargo| cargo.id).collect();
    let mut summaries = cargo_summary::list(shard, project, &ids).await?;
    let cargo = page.cargo.into_iter().filter_map(|item| {
        let summary = summaries.remove(&item.id)?;
        Some(summary_record(item, summary))
    });
    Ok(Json(CargoListResponse {
        cargo: cargo.collect(),
        next_cursor: page.next.map(encode_cursor),
        looked_until: page.looked_until.map(WireTimestamp),
    }))
}

fn summary_record(item: CargoListItem, summary: CargoSummary) -> CargoSummaryBody {
    // The outcome may have come after the row was read.
    let result = summary.result.filter(|_| item.completed_at.is_some());
    let charged = result.as_ref().map(|result| result.charged);
    let saving = result.as_ref().and_then(|result| {
        let realtime = result.realtime?;
        Some(Saving::between(realtime, result.charged))
    });
    let usage = result.as_ref().map(|result| result.usage.into());
    let (error, error_code) = result.map_or((None, None), |it| (it.error, it.error_code));
    CargoSummaryBody {
        cargo_id: item.id.to_string(),
        status: item.status().into(),
        model: item.model,
        kind: summary.kind.into(),
        attempt: summary.attempt,
        created_at: WireTimestamp(item.created_at),
        completed_at: item.completed_at.map(WireTimestamp),
        success: item.success,
        error,
        error_code,
        usage,
        cost: CostBody::in_nano_dollars(item.held, charged, saving),
        callback: item.callback_host.map(|host| CallbackSummaryBody {
            host,
            status: callback_status(item.callback),
        }),
        custom_id: summary.custom_id,
        group_id: summary.group.map(|group| group.to_string()),
        metadata: summary.metadata.and_then(raw_json),
    }
}

const fn callback_status(state: CallbackState) -> CallbackStatusBody {
    match state {
        CallbackState::Open => CallbackStatusBody::Open,
        CallbackState::Delivered => CallbackStatusBody::Delivered,
        CallbackState::Failed => CallbackStatusBody::Failed,
    }
}
