//! A collector of spans on loopback: it answers 200 and counts what arrives.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;

/// Every span has this field once, and nothing else has it.
const SPAN_FIELD: &[u8] = b"\"startTimeUnixNano\"";

/// Serves until it is dropped.
#[derive(Debug)]
pub struct SpanSink {
    counts: Arc<SpanCounts>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

#[derive(Debug, Default)]
struct SpanCounts {
    spans: AtomicU64,
    bytes: AtomicU64,
}

impl SpanSink {
    pub async fn start() -> Result<Self> {
        let counts = Arc::new(SpanCounts::default());
        let counted = Arc::clone(&counts);
        let serve = move |stream| serve_connection(stream, Arc::clone(&counted));
        let (address, serving) = listener::serve_on_free_port("the span sink", serve).await?;
        Ok(Self {
            counts,
            address,
            _serving: serving,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn count_spans(&self) -> u64 {
        self.counts.spans.load(Ordering::Relaxed)
    }

    pub fn count_bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }
}

async fn serve_connection(stream: TcpStream, counts: Arc<SpanCounts>) {
    let answer = service_fn(|request| respond(request, &counts));
    // The service may close the connection at any time.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn respond(
    request: Request<Incoming>,
    counts: &SpanCounts,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    if let Ok(body) = request.into_body().collect().await {
        let body = body.to_bytes();
        let windows = body.windows(SPAN_FIELD.len());
        let spans = windows.filter(|window| *window == SPAN_FIELD).count();
        let count = |number: usize| u64::try_from(number).unwrap_or_default();
        counts.spans.fetch_add(count(spans), Ordering::Relaxed);
        counts.bytes.fetch_add(count(body.len()), Ordering::Relaxed);
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"{}"))))
}
