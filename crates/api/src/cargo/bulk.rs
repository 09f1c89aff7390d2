//! `POST /cargo/bulk`: admits many loads, each with the checks and errors of a single load.
//!
//! It is not atomic: each item is on disk or refused, and its result says which.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::error_chain;
use domain::id::ProjectId;
use domain::trace_context::{RequestTrace, TraceContext};
use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _};
use http::{HeaderValue, StatusCode};
use wire::bulk::{AcceptedItem, BulkItemResult, BulkLoadResponse, RefusedItem};

use crate::api_error::{ApiError, ErrorCause};
use crate::auth::AdmittedCaller;
use crate::caller::Caller;
use crate::cargo::load::{self, AdmittedLoad, IDEMPOTENCY_KEY};
use crate::cargo::load_check::LoadInput;
use crate::group_commit::StoredLoad;
use crate::rate_limit::{BackstopExceeded, BucketStatus};
use crate::request_body::BufferedBody;
use crate::state::App;

mod item_key;
mod items;

pub(super) use item_key::with_key;
pub(super) use items::{is_bulk_object, is_ndjson, split};
pub(crate) use items::{not_a_bulk_load, too_many_items};

/// The largest body, unless the operator allows less for every body.
pub(super) const MAX_BULK_BYTES: usize = 10 << 20;
/// The backstop protects the platform from requests, so it counts a bulk load by hundreds.
const ITEMS_PER_COUNTED_REQUEST: usize = 100;
/// As many as the largest group of the group commit. The items share the bytes of the body, and
/// one that is queued keeps only its compressed request.
const MAX_CONCURRENT_ITEMS: usize = 512;

/// The extractor counts the first hundred items before the body is read. Items are admitted in
/// the order of the request, so the first ones get the tokens if there are too few.
pub(crate) async fn bulk(
    AdmittedCaller(caller): AdmittedCaller,
    State(app): State<App>,
    request: Request,
) -> Result<Response, ApiError> {
    let is_ndjson = items::is_ndjson(request.headers());
    let key = request.headers().get(IDEMPOTENCY_KEY).cloned();
    let trace = request.extensions().get::<RequestTrace>();
    let trace = trace.map(|trace| trace.context);
    let max_bytes = app.max_body_bytes.min(MAX_BULK_BYTES);
    let BufferedBody(body) = BufferedBody::read(request, max_bytes).await?;
    let items = items::split(&body, is_ndjson)?;
    drop(body);
    count_further_hundreds(&app, caller.project, items.len()).await?;
    let admissions = items.into_iter().enumerate().map(move |(index, body)| {
        let item = BulkItem { index, body, trace };
        // On the heap, because hundreds of them are in flight.
        Box::pin(admit_item(app.clone(), caller.clone(), key.clone(), item))
    });
    let mut admissions = stream::iter(admissions).buffered(MAX_CONCURRENT_ITEMS);
    let (mut results, mut status) = (Vec::new(), None);
    while let Some(admitted) = admissions.next().await {
        status = admitted.bucket_status.or(status);
        results.push(admitted.result);
    }
    let mut response = Json(BulkLoadResponse::new(results)).into_response();
    if let Some(status) = status {
        response.headers_mut().extend(status.headers());
    }
    Ok(response)
}

/// One load of the request.
#[derive(Debug)]
struct BulkItem {
    index: usize,
    body: Bytes,
    /// The span of the request, if it is traced.
    trace: Option<TraceContext>,
}

#[derive(Debug)]
struct AnsweredItem {
    result: BulkItemResult,
    /// The status of the organization's bucket after the item. None if it was refused.
    bucket_status: Option<BucketStatus>,
}

/// Counts all hundreds but the first, which is counted before the body is read.
pub(super) async fn count_further_hundreds(
    app: &App,
    project: ProjectId,
    items: usize,
) -> Result<(), BackstopExceeded> {
    let hundreds = items.div_ceil(ITEMS_PER_COUNTED_REQUEST);
    // The limiter checks them together.
    let counts = (1..hundreds).map(|_| app.limiter.count_request(project));
    try_join_all(counts).await.map(drop)
}

async fn admit_item(
    app: App,
    caller: Caller,
    header_key: Option<HeaderValue>,
    item: BulkItem,
) -> AnsweredItem {
    let BulkItem { index, body, trace } = item;
    let admitted = match item_key::with_key(body, header_key.as_ref(), index) {
        Ok(input) => {
            let input = LoadInput { trace, ..input };
            load::admit_load(&app, caller, input, None).await
        }
        Err(error) => Err(error),
    };
    match admitted {
        Ok(admitted) => accepted_item(index, admitted),
        Err(error) => refused_item(index, error),
    }
}

fn accepted_item(index: usize, admitted: AdmittedLoad) -> AnsweredItem {
    let (cargo, replay) = match admitted.stored {
        StoredLoad::New(id) => (id, false),
        StoredLoad::Replay(id) => (id, true),
    };
    let accepted = AcceptedItem::new(index, cargo, replay, admitted.warnings);
    AnsweredItem {
        result: BulkItemResult::Accepted(accepted),
        bucket_status: Some(admitted.bucket_status),
    }
}

fn refused_item(index: usize, error: ApiError) -> AnsweredItem {
    // The request itself is answered with 200, so its log event does not have the cause.
    if error.status() == StatusCode::INTERNAL_SERVER_ERROR
        && let Some(ErrorCause(cause)) = error.cause()
    {
        let error = error_chain::chain(cause.as_ref());
        tracing::error!(item = index, error, "item of a bulk load failed");
    }
    AnsweredItem {
        result: BulkItemResult::Refused(describe_refusal(index, error)),
        bucket_status: None,
    }
}

/// The error of an item, as a single load would have got it.
pub(super) fn describe_refusal(index: usize, error: ApiError) -> RefusedItem {
    RefusedItem {
        index,
        status: error.status().as_u16(),
        retry_after_seconds: error.retry_after_seconds(),
        detail: error.into_body().detail,
    }
}
