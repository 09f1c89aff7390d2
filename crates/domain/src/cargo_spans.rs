//! The spans of a cargo and of its batch, built from what the rows say.
//!
//! ```text
//! trace of the cargo                        trace of the batch
//! POST /cargo/load   SERVER                 batch    INTERNAL  links to the loads
//! ├─ gather          INTERNAL  link ──────► └─ submit  CLIENT
//! ├─ outcome         INTERNAL  link ──────►
//! └─ deliver         CLIENT, one per attempt
//! ```
//! A worker exports the spans of an attempt when its outcome is stored, so nothing is lost with a
//! worker that dies before. The names of attributes are in this file only.

use crate::id::{self, BatchId, CargoId, OrganizationId, ProjectId};
use crate::span::{Span, SpanKind, SpanTimes};
use crate::time::Timestamp;
use crate::trace_context::{RequestTrace, SpanId, TraceContext, TraceId};

const CARGO_ID: &str = "longshore.cargo.id";
const ORGANIZATION_ID: &str = "longshore.organization.id";
const PROJECT_ID: &str = "longshore.project.id";
const BATCH_ID: &str = "longshore.batch.id";
const ATTEMPT: &str = "longshore.attempt";
const PROVIDER_ACCOUNT: &str = "longshore.provider.account";
const INFERENCE_MODE: &str = "longshore.inference.mode";
const MODEL: &str = "gen_ai.request.model";
const BATCH_SIZE: &str = "messaging.batch.message_count";
const HTTP_METHOD: &str = "http.request.method";
const HTTP_ROUTE: &str = "http.route";
const HTTP_STATUS: &str = "http.response.status_code";
const ERROR_TYPE: &str = "error.type";

/// The error of an attempt that ended without an outcome: its cargo waits for the next one.
pub const REQUEUED: &str = "requeued";

/// A sampled cargo, with what its spans say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedCargo {
    /// Of the load.
    pub context: TraceContext,
    pub cargo: CargoId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub model: String,
    pub attempt: u32,
    /// Since when this attempt waits to be gathered.
    pub queued_at: Timestamp,
}

/// A batch, with what spans say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedBatch {
    pub batch: BatchId,
    /// The name of the provider account.
    pub provider: String,
    /// batch, flex or realtime.
    pub mode: &'static str,
    pub model: String,
    /// How many cargo it has.
    pub size: usize,
}

/// The cargo of a load, as its span names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedCargo {
    pub cargo: CargoId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub model: String,
}

/// One POST to the callback URL.
#[derive(Debug, Clone)]
pub struct TracedDelivery<'a> {
    /// Of the load.
    pub context: TraceContext,
    pub cargo: CargoId,
    pub project: Option<ProjectId>,
    /// From 1.
    pub number: u32,
    pub status: Option<u16>,
    pub error: Option<&'a str>,
}

/// The span of the request that loaded a cargo. Without a cargo, the load was refused.
pub fn load_span(
    trace: RequestTrace,
    status: u16,
    loaded: Option<&LoadedCargo>,
    times: SpanTimes,
) -> Span {
    let mut span = Span::new(trace.context, "POST /cargo/load", SpanKind::Server, times)
        .with_parent(trace.parent)
        .with_text(HTTP_METHOD, "POST")
        .with_text(HTTP_ROUTE, "/cargo/load")
        .with_number(HTTP_STATUS, status);
    if let Some(loaded) = loaded {
        span = span
            .with_text(CARGO_ID, loaded.cargo.to_string())
            .with_text(ORGANIZATION_ID, loaded.organization.to_string())
            .with_text(PROJECT_ID, loaded.project.to_string())
            .with_text(MODEL, loaded.model.as_str());
    }
    // A server span has an error only if the server is at fault.
    span.with_error((status >= 500).then(|| status.to_string()))
}

/// How long a cargo waited to be gathered into a batch.
pub fn gather_span(cargo: &TracedCargo, batch: &TracedBatch) -> Span {
    let times = SpanTimes {
        started_at: cargo.queued_at,
        ended_at: gathered_at(batch.batch),
    };
    cargo_span(cargo, "gather", Some(batch), times)
}

/// From the batch to the outcome; for cargo that was never in a batch, from the queue.
pub fn outcome_span(
    cargo: &TracedCargo,
    batch: Option<&TracedBatch>,
    error: Option<&'static str>,
    ended_at: Timestamp,
) -> Span {
    let times = SpanTimes {
        started_at: batch.map_or(cargo.queued_at, |batch| gathered_at(batch.batch)),
        ended_at,
    };
    let mut span = cargo_span(cargo, "outcome", batch, times);
    if let Some(error) = error {
        span = span.with_text(ERROR_TYPE, error);
    }
    span.with_error(error.map(str::to_owned))
}

/// The context that the receiver of a callback gets: the span of this attempt.
pub fn delivery_context(load: TraceContext, cargo: CargoId, number: u32) -> TraceContext {
    let (cargo, number) = (cargo.uuid().into_bytes(), number.to_be_bytes());
    load.with_span(SpanId::derive(load.trace, "deliver", &[&cargo, &number]))
}

pub fn delivery_span(delivery: &TracedDelivery<'_>, times: SpanTimes) -> Span {
    let load = delivery.context;
    let context = delivery_context(load, delivery.cargo, delivery.number);
    let is_success = delivery.error.is_none()
        && delivery
            .status
            .is_some_and(|status| (200..300).contains(&status));
    let mut span = Span::new(context, "deliver", SpanKind::Client, times)
        .with_parent(Some(load.span))
        .with_text(HTTP_METHOD, "POST")
        .with_text(CARGO_ID, delivery.cargo.to_string())
        .with_number(ATTEMPT, delivery.number);
    if let Some(project) = delivery.project {
        span = span.with_text(PROJECT_ID, project.to_string());
    }
    let status = delivery.status.map(|status| status.to_string());
    if let Some(status) = delivery.status {
        span = span.with_number(HTTP_STATUS, status);
    }
    let error = delivery.error.map(str::to_owned).or(status);
    span.with_error(error.filter(|_| !is_success))
}

/// The whole batch, linked to its sampled cargo.
pub fn batch_span(
    batch: &TracedBatch,
    cargo: impl IntoIterator<Item = TraceContext>,
    ended_at: Timestamp,
) -> Span {
    let times = SpanTimes {
        started_at: gathered_at(batch.batch),
        ended_at,
    };
    describe_batch(
        Span::new(
            batch_context(batch.batch),
            "batch",
            SpanKind::Internal,
            times,
        ),
        batch,
    )
    .with_links(cargo)
}

/// The submission of a batch to its provider, linked to its sampled cargo.
pub fn submit_span(
    batch: &TracedBatch,
    cargo: impl IntoIterator<Item = TraceContext>,
    times: SpanTimes,
) -> Span {
    let root = batch_context(batch.batch);
    let id = SpanId::derive(root.trace, "submit", &[]);
    let span = Span::new(root.with_span(id), "submit", SpanKind::Client, times);
    describe_batch(span.with_parent(Some(root.span)), batch).with_links(cargo)
}

fn cargo_span(
    cargo: &TracedCargo,
    name: &'static str,
    batch: Option<&TracedBatch>,
    times: SpanTimes,
) -> Span {
    // A cargo that no provider ran keeps its attempt, so the batch tells its spans apart.
    let batch_id = batch.map(|batch| batch.batch.uuid().into_bytes());
    let batch_id = batch_id.unwrap_or_default();
    let cargo_id = cargo.cargo.uuid().into_bytes();
    let id = SpanId::derive(cargo.context.trace, name, &[&cargo_id, &batch_id]);
    let span = Span::new(cargo.context.with_span(id), name, SpanKind::Internal, times)
        .with_parent(Some(cargo.context.span))
        .with_text(CARGO_ID, cargo.cargo.to_string())
        .with_text(ORGANIZATION_ID, cargo.organization.to_string())
        .with_text(PROJECT_ID, cargo.project.to_string())
        .with_text(MODEL, cargo.model.as_str())
        .with_number(ATTEMPT, cargo.attempt);
    match batch {
        Some(batch) => span
            .with_text(BATCH_ID, batch.batch.to_string())
            .with_text(PROVIDER_ACCOUNT, batch.provider.as_str())
            .with_text(INFERENCE_MODE, batch.mode)
            .with_links([batch_context(batch.batch)]),
        None => span,
    }
}

fn describe_batch(span: Span, batch: &TracedBatch) -> Span {
    span.with_text(BATCH_ID, batch.batch.to_string())
        .with_text(PROVIDER_ACCOUNT, batch.provider.as_str())
        .with_text(INFERENCE_MODE, batch.mode)
        .with_text(MODEL, batch.model.as_str())
        .with_number(BATCH_SIZE, i64::try_from(batch.size).unwrap_or(i64::MAX))
}

/// The root span of a batch's trace.
fn batch_context(batch: BatchId) -> TraceContext {
    let trace = TraceId::of_batch(batch);
    TraceContext::sampled(trace, SpanId::derive(trace, "batch", &[]))
}

/// The id of a batch carries the time at which it was gathered.
fn gathered_at(batch: BatchId) -> Timestamp {
    id::timestamp_of(batch.uuid())
}

#[cfg(test)]
mod tests;
