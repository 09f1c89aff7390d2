//! Gives every request an id, one log event and two metrics.
//!
//! Bodies, keys and query strings are never logged here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use domain::error_chain;
use domain::trace_context::TraceId;

use crate::api_error::{ApiError, ErrorCause};
use crate::request_id::ChosenRequestId;
use crate::request_span::{OpenRequestSpan, RequestTracer};
use crate::waiters::WaitTime;

/// The date of the contract. Changes under the same date only add fields.
pub(crate) const API_VERSION: &str = "2026-11-15";

const VERSION_HEADER: HeaderName = HeaderName::from_static("x-api-version");
const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Traces every route and fallback that the router has so far. With a tracer, loads have spans.
pub(crate) fn trace_requests<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    tracer: Option<RequestTracer>,
) -> Router<S> {
    let layer = move |request: Request, next: Next| trace(request, next, tracer.clone());
    routes.layer(middleware::from_fn(layer))
}

async fn trace(mut request: Request, next: Next, tracer: Option<RequestTracer>) -> Response {
    let began = Instant::now();
    let method = method_label(request.method());
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    let span = tracer
        .as_ref()
        .and_then(|tracer| tracer.begin(route, &mut request));
    let mut response = catch_panic(next.run(request)).await;
    let chosen = response.extensions().get::<ChosenRequestId>();
    let id = chosen.map_or_else(
        || format!("{:032x}", rand::random::<u128>()),
        |ChosenRequestId(id)| id.clone(),
    );
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(ID_HEADER, value);
    }
    response
        .headers_mut()
        .insert(VERSION_HEADER, HeaderValue::from_static(API_VERSION));
    let waited = response.extensions().get::<WaitTime>();
    let waited = waited.map_or(Duration::ZERO, |WaitTime(waited)| *waited);
    let served = ServedRequest {
        method,
        route,
        status: response.status(),
        // What a long-poll waited for is not our time.
        latency: began.elapsed().saturating_sub(waited),
        id: &id,
        trace_id: span.as_ref().and_then(OpenRequestSpan::trace_id),
    };
    if let (Some(tracer), Some(span)) = (&tracer, &span) {
        tracer.end(span, &response);
    }
    served.count();
    served.log(response.extensions().get());
    response
}

struct ServedRequest<'a> {
    method: &'static str,
    route: &'a str,
    status: StatusCode,
    latency: Duration,
    id: &'a str,
    /// Of a traced load.
    trace_id: Option<TraceId>,
}

impl ServedRequest<'_> {
    fn count(&self) {
        let route = self.route.to_owned();
        let status = self.status.as_str().to_owned();
        metrics::histogram!("longshore_http_request_duration_seconds", "route" => route.clone())
            .record(self.latency.as_secs_f64());
        metrics::counter!("longshore_http_requests_total", "route" => route, "method" => self.method, "status" => status)
            .increment(1);
    }

    fn log(&self, cause: Option<&ErrorCause>) {
        let Self {
            method,
            route,
            status,
            latency,
            id,
            trace_id,
        } = self;
        let trace_id = trace_id.map(tracing::field::display);
        let status = status.as_u16();
        let milliseconds = latency.as_secs_f64() * 1000.0;
        let cause = cause.map(|ErrorCause(cause)| error_chain::chain(cause.as_ref()));
        // 503 is not a failure: the process is starting or draining, or a shard is unreachable.
        let is_failure =
            self.status.is_server_error() && self.status != StatusCode::SERVICE_UNAVAILABLE;
        if is_failure {
            let cause = cause.as_ref().map(tracing::field::display);
            tracing::error!(
                request.id = id,
                trace_id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                error = cause,
                "request failed"
            );
        } else if self.status.is_client_error() || self.status.is_server_error() {
            let cause = cause.as_ref().map(tracing::field::display);
            tracing::info!(
                request.id = id,
                trace_id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                error = cause,
                "request refused"
            );
        } else {
            tracing::debug!(
                request.id = id,
                trace_id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                "request answered"
            );
        }
    }
}

/// A panic in a handler ends its request, not the connection.
async fn catch_panic(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    std::future::poll_fn(|context| {
        // A future that panicked is never polled again, so its state is never observed.
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        polled.unwrap_or_else(|_| {
            Poll::Ready(ApiError::internal("a handler panicked").into_response())
        })
    })
    .await
}

/// The method as one of few metric labels, because a caller may invent methods.
fn method_label(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}

#[cfg(test)]
mod tests;
