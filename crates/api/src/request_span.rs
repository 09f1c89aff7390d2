//! The span of a load: begun from the caller's `traceparent` once the caller is authenticated, and
//! recorded with the response.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::response::Response;
use domain::cargo_spans::{LoadedCargo, load_span};
use domain::id::ProjectId;
use domain::plan_limits::RateLimit;
use domain::request_buckets::RequestBuckets;
use domain::span::SpanTimes;
use domain::time::{Clock, Timestamp};
use domain::trace_context::{RequestTrace, TraceContext, TraceId};
use outbound::otlp::Tracer;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The route that begins the path of a cargo. Other requests have no spans.
const TRACED_ROUTE: &str = "/cargo/load";
/// Loads of a project that its callers may have traced: ten per second. The exporter's queue is for
/// all projects.
const CALLER_TRACE_RATE: RateLimit = RateLimit {
    burst: 10,
    per_minute: 600,
};

/// Records the spans of requests.
#[derive(Debug, Clone)]
pub(crate) struct RequestTracer {
    tracer: Tracer,
    clock: Arc<dyn Clock>,
    caller_traces: Arc<RequestBuckets<ProjectId>>,
}

/// The trace of a request, in its extensions. It is empty until the caller is authenticated, and
/// stays empty if the request is not traced.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestTraceSlot(Arc<OnceLock<RequestTrace>>);

/// The span of a request that is not answered yet.
#[derive(Debug)]
pub(crate) struct OpenRequestSpan {
    trace: RequestTraceSlot,
    started_at: Timestamp,
}

impl OpenRequestSpan {
    /// None: the request is not traced.
    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.trace.0.get().map(|trace| trace.context.trace)
    }
}

impl RequestTracer {
    pub(crate) fn new(tracer: Tracer, clock: Arc<dyn Clock>) -> Self {
        Self {
            tracer,
            clock,
            caller_traces: Arc::new(RequestBuckets::with_rate(CALLER_TRACE_RATE)),
        }
    }

    /// None: such requests have no spans. Whether this one has is decided when its caller is known.
    pub(crate) fn begin(&self, route: &str, request: &mut Request) -> Option<OpenRequestSpan> {
        if route != TRACED_ROUTE || request.method() != Method::POST {
            return None;
        }
        let trace = RequestTraceSlot::default();
        request.extensions_mut().insert(trace.clone());
        Some(OpenRequestSpan {
            trace,
            started_at: self.clock.now(),
        })
    }

    /// The trace of an authenticated request. None: it is not traced.
    pub(crate) fn decide(
        &self,
        slot: &RequestTraceSlot,
        headers: &HeaderMap,
        project: ProjectId,
    ) -> Option<RequestTrace> {
        let caller = read_traceparent(headers);
        let is_requested = caller.is_some_and(TraceContext::is_sampled);
        let now = self.clock.now().timestamp_micros();
        let is_within_limit = is_requested && self.caller_traces.take(project, now).is_ok();
        let (ratio, entropy) = (self.tracer.ratio, rand::random());
        let trace = RequestTrace::begin(caller, is_within_limit, ratio, entropy, rand::random())?;
        Some(*slot.0.get_or_init(|| trace))
    }

    pub(crate) fn end(&self, open: &OpenRequestSpan, response: &Response) {
        let Some(trace) = open.trace.0.get() else {
            return;
        };
        let times = SpanTimes {
            started_at: open.started_at,
            ended_at: self.clock.now(),
        };
        let loaded = response.extensions().get::<LoadedCargo>();
        let status = response.status().as_u16();
        self.tracer
            .record([load_span(*trace, status, loaded, times)]);
    }
}

/// A caller that sends the header twice is not continued, as the specification says.
fn read_traceparent(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let first = values.next()?.to_str().ok()?;
    values
        .next()
        .is_none()
        .then(|| TraceContext::parse(first))?
}
