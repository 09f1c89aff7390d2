//! Exports spans by OTLP: a bounded queue, and a task that POSTs them as JSON.
//!
//! OTLP over HTTP has two encodings, protobuf and JSON, and collectors read both. JSON needs no
//! further crate here: the SDK and its exporter would bring a second HTTP client or a thread of
//! their own. A stage never waits: what does not fit into the queue is dropped and counted.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use domain::span::Span;
use domain::trace_context::SampleRatio;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::rustls::RootCertStore;

use crate::http_exchange::{HttpFailure, LONGSHORE_USER_AGENT, OutboundHttpClient};
use crate::tls::TlsSetupFailure;

mod encoding;

use encoding::{encode_spans, read_rejected_spans};

/// Spans that wait to be exported.
const MAX_QUEUED_SPANS: usize = 16_384;
const MAX_SPANS_PER_EXPORT: usize = 512;
/// For one POST, including connecting.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 64 << 10;
const MAX_EXPORT_ATTEMPTS: u32 = 3;
/// Before the second attempt; longer before later ones.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Takes the spans of a process. Without one, nothing is traced.
#[derive(Debug, Clone)]
pub struct Tracer {
    spans: mpsc::Sender<Span>,
    /// The share of loads that is traced, if their callers do not decide.
    pub ratio: SampleRatio,
}

impl Tracer {
    /// Queues spans for the exporter; never waits.
    pub fn record(&self, spans: impl IntoIterator<Item = Span>) {
        let is_unsent = |span| self.spans.try_send(span).is_err();
        let unsent = spans.into_iter().map(is_unsent);
        count_dropped(unsent.filter(|is_unsent| *is_unsent).count());
    }
}

/// The collector, and how spans are sent to it.
#[derive(Debug, Clone)]
pub struct SpanExportOptions {
    /// The whole URL, such as `http://collector:4318/v1/traces`.
    pub endpoint: Uri,
    /// Sent with every request; the values are secrets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub ratio: SampleRatio,
    /// How long spans wait for others before they are exported together.
    pub flush_interval: Duration,
    /// The name of this process, for people.
    pub instance: String,
}

/// Exports the queued spans of a [`Tracer`].
pub struct SpanExporter {
    queue: mpsc::Receiver<Span>,
    client: OutboundHttpClient<Full<Bytes>>,
    options: SpanExportOptions,
    is_failing: bool,
}

impl std::fmt::Debug for SpanExporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanExporter")
            .field("endpoint", &self.options.endpoint)
            .finish_non_exhaustive()
    }
}

/// Why spans were not exported.
#[derive(Debug, thiserror::Error)]
enum ExportFailure {
    #[error(transparent)]
    Exchange(#[from] HttpFailure),
    #[error("the collector answered {0}")]
    Status(StatusCode),
    #[error("the request could not be built")]
    Request(#[from] http::Error),
    #[error("the spans could not be encoded")]
    Encoding(#[from] serde_json::Error),
}

impl ExportFailure {
    /// As the specification says. A POST without an answer may have arrived, so a span may arrive
    /// twice, with the same id.
    fn is_retryable(&self) -> bool {
        match self {
            Self::Exchange(_) => true,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            Self::Request(_) | Self::Encoding(_) => false,
        }
    }
}

/// A tracer and its exporter, which the caller runs.
pub fn open(
    options: SpanExportOptions,
    roots: RootCertStore,
) -> Result<(Tracer, SpanExporter), TlsSetupFailure> {
    let (spans, queue) = mpsc::channel(MAX_QUEUED_SPANS);
    let tracer = Tracer {
        spans,
        ratio: options.ratio,
    };
    let exporter = SpanExporter {
        queue,
        client: OutboundHttpClient::new(EXPORT_TIMEOUT, roots)?,
        options,
        is_failing: false,
    };
    Ok((tracer, exporter))
}

impl SpanExporter {
    /// Exports until `stop` is done, and then what is queued, with one attempt each.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) {
        let mut stop = pin!(stop);
        let mut spans = Vec::new();
        loop {
            tokio::select! {
                received = self.queue.recv_many(&mut spans, MAX_SPANS_PER_EXPORT) => {
                    if received == 0 {
                        return;
                    }
                }
                () = &mut stop => break,
            }
            self.wait_for_more(&mut spans).await;
            self.export(&spans, MAX_EXPORT_ATTEMPTS).await;
            spans.clear();
        }
        self.queue.close();
        while self.queue.recv_many(&mut spans, MAX_SPANS_PER_EXPORT).await > 0 {
            self.export(&spans, 1).await;
            spans.clear();
        }
    }

    async fn wait_for_more(&mut self, spans: &mut Vec<Span>) {
        let until = Instant::now() + self.options.flush_interval;
        while spans.len() < MAX_SPANS_PER_EXPORT {
            let room = MAX_SPANS_PER_EXPORT - spans.len();
            match timeout_at(until, self.queue.recv_many(spans, room)).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    async fn export(&mut self, spans: &[Span], attempts: u32) {
        let count = spans.len();
        let mut exported = self.encode_and_post(spans).await;
        for attempt in 1..attempts {
            if !exported.as_ref().is_err_and(ExportFailure::is_retryable) {
                break;
            }
            sleep(RETRY_DELAY * attempt).await;
            exported = self.encode_and_post(spans).await;
        }
        self.report(&exported);
        let rejected = exported.map_or(count, |rejected| rejected.min(count));
        count_dropped(rejected);
        let accepted = u64::try_from(count - rejected).unwrap_or_default();
        metrics::counter!("longshore_trace_spans_exported_total").increment(accepted);
    }

    /// One POST. Returns how many spans the collector rejected.
    async fn encode_and_post(&self, spans: &[Span]) -> Result<usize, ExportFailure> {
        let body = encode_spans(spans, &self.options.instance)?;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.options.endpoint.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static(LONGSHORE_USER_AGENT));
        for (name, value) in &self.options.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        let answer = self
            .client
            .exchange(request, EXPORT_TIMEOUT, MAX_RESPONSE_BYTES)
            .await?;
        if !answer.status().is_success() {
            return Err(ExportFailure::Status(answer.status()));
        }
        Ok(read_rejected_spans(answer.body()))
    }

    /// Logs when exports begin to fail and when they succeed again, not every failure.
    fn report(&mut self, exported: &Result<usize, ExportFailure>) {
        match exported {
            Err(failure) if !self.is_failing => {
                tracing::warn!(%failure, "spans cannot be exported and are dropped: check SVC_TRACING_ENDPOINT and the collector");
            }
            Ok(_) if self.is_failing => tracing::info!("spans are exported again"),
            Ok(_) | Err(_) => {}
        }
        self.is_failing = exported.is_err();
    }
}

fn count_dropped(count: usize) {
    if count > 0 {
        let count = u64::try_from(count).unwrap_or_default();
        metrics::counter!("longshore_trace_spans_dropped_total").increment(count);
    }
}

#[cfg(test)]
mod tests;
