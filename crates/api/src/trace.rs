//! Around every request: its id, one event in the log, two metrics.
//!
//! Neither bodies, nor keys, nor query strings are ever written here.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};

use crate::problem::{Cause, Problem};

/// The date of the contract that we speak. Changes within it only add.
pub(crate) const API_VERSION: &str = "2026-11-15";

const VERSION_HEADER: HeaderName = HeaderName::from_static("x-api-version");
const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Traces every route and fallback that the router has so far.
pub(crate) fn around<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes.layer(middleware::from_fn(trace))
}

async fn trace(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = name(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = surviving(next.run(request)).await;
    let id = format!("{:032x}", rand::random::<u128>());
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(ID_HEADER, value);
    }
    response
        .headers_mut()
        .insert(VERSION_HEADER, HeaderValue::from_static(API_VERSION));
    let served = Served {
        method,
        route: route.as_ref().map_or("none", MatchedPath::as_str),
        status: response.status(),
        latency: began.elapsed(),
        id: &id,
    };
    served.count();
    served.log(response.extensions().get());
    response
}

struct Served<'a> {
    method: &'static str,
    route: &'a str,
    status: StatusCode,
    latency: Duration,
    id: &'a str,
}

impl Served<'_> {
    fn count(&self) {
        let route = self.route.to_owned();
        let status = self.status.as_str().to_owned();
        metrics::histogram!("http_request_seconds", "route" => route.clone())
            .record(self.latency.as_secs_f64());
        metrics::counter!("http_requests_total", "route" => route, "method" => self.method, "status" => status)
            .increment(1);
    }

    fn log(&self, cause: Option<&Cause>) {
        let Self {
            method,
            route,
            status,
            latency,
            id,
        } = self;
        let status = status.as_u16();
        let milliseconds = latency.as_secs_f64() * 1000.0;
        let cause = cause.map(|Cause(cause)| Chain(cause.as_ref()));
        // 503 is said on purpose: while starting or draining, or while a shard is away.
        let ours = self.status.is_server_error() && self.status != StatusCode::SERVICE_UNAVAILABLE;
        if ours {
            let cause = cause.as_ref().map(tracing::field::display);
            tracing::error!(
                request.id = id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                error = cause,
                "request {id} failed"
            );
        } else if self.status.is_client_error() || self.status.is_server_error() {
            let cause = cause.as_ref().map(tracing::field::display);
            tracing::info!(
                request.id = id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                error = cause,
                "request {id} refused"
            );
        } else {
            tracing::debug!(
                request.id = id,
                http.method = method,
                http.route = route,
                http.status = status,
                http.milliseconds = milliseconds,
                "request {id} answered"
            );
        }
    }
}

/// A failure and what is behind it, outermost first.
struct Chain<'a>(&'a (dyn Error + Send + Sync));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut behind = self.0.source();
        while let Some(error) = behind {
            write!(f, ": {error}")?;
            behind = error.source();
        }
        Ok(())
    }
}

/// A panic in a handler ends its request, not the connection.
async fn surviving(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    std::future::poll_fn(|context| {
        // What panicked is never polled again, so nobody sees it half done.
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        polled.unwrap_or_else(|_| {
            Poll::Ready(Problem::internal("a handler panicked").into_response())
        })
    })
    .await
}

/// The method, as one of few words: a caller may invent others.
fn name(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}

#[cfg(test)]
mod tests;
