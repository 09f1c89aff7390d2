//! The callback client: one POST, within one deadline, to an allowed address.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use domain::callback_signature::SignatureHeaders;
use domain::callback_url::AllowedSchemes;
use domain::ssrf_guard::{AllowedAddresses, DestinationRules};
use domain::trace_context::TraceContext;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ipnet::IpNet;
use tokio_rustls::rustls::RootCertStore;

use crate::http_exchange::LONGSHORE_USER_AGENT;
use crate::tls::{TlsSetupFailure, native_roots, tls_connector};

mod callback_url;
mod dns;
mod failure;
mod limited_stream;
mod lookup_slots;
mod ssrf_guard;

pub use dns::{DnsResolver, SystemResolver};

use failure::ExchangeFailure;
use ssrf_guard::GuardedConnector;

/// The span of the attempt, if its cargo is traced.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The rest of a longer body is left unread.
const MAX_BODY_BYTES_READ: usize = 64 * 1024;
/// Kept for the caller to see.
const MAX_BODY_BYTES_KEPT: usize = 1024;
/// Status line and headers together.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Receivers commonly close connections that idle for 5 s. A shorter timeout keeps us from
/// sending on a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const MAX_IDLE_PER_HOST: usize = 1024;
/// Above this number of open connections none is kept alive.
const MAX_OPEN_CONNECTIONS: usize = 8192;

#[derive(Debug, Clone)]
pub struct Options {
    /// For the whole exchange: resolving, connecting, sending and reading.
    pub timeout: Duration,
    /// Private ranges that callbacks may reach.
    pub allowed_ranges: Vec<IpNet>,
    pub schemes: AllowedSchemes,
    pub rules: DestinationRules,
}

/// The resolver and root certificates: the system's, except in tests.
#[derive(Debug)]
pub struct CallbackDeps {
    pub resolver: Arc<dyn DnsResolver>,
    pub roots: RootCertStore,
}

/// The result of one POST.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallbackAttempt {
    pub status: Option<u16>,
    /// Short and readable for the caller. A complete response with an error status may have none.
    pub error: Option<String>,
    pub latency: Duration,
    /// The first bytes of the response body.
    pub response_excerpt: Bytes,
}

impl CallbackAttempt {
    /// A 2xx status counts unless the body was still arriving at the timeout.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
            && self
                .status
                .is_some_and(|status| (200..300).contains(&status))
    }
}

/// Implemented by [`HttpCallbackClient`], and by receivers inside tests. Callbacks to listeners go
/// through the database instead.
#[async_trait]
pub trait CallbackClient: Send + Sync + fmt::Debug {
    /// POSTs once. The attempt records the result or the error. `trace` is its span.
    async fn post(
        &self,
        url: &str,
        body: Bytes,
        signature: Option<&SignatureHeaders>,
        trace: Option<TraceContext>,
    ) -> CallbackAttempt;
}

/// Sends callbacks over kept-alive connections.
#[derive(Debug, Clone)]
pub struct HttpCallbackClient {
    client: Client<GuardedConnector, Full<Bytes>>,
    timeout: Duration,
    schemes: AllowedSchemes,
    open_connections: Arc<AtomicUsize>,
}

impl HttpCallbackClient {
    pub fn new(options: Options) -> Result<Self, TlsSetupFailure> {
        let roots = native_roots();
        if roots.is_empty() {
            tracing::warn!("no root certificate is trusted: every https callback will fail");
        }
        Self::with_deps(
            options,
            CallbackDeps {
                resolver: Arc::new(SystemResolver::default()),
                roots,
            },
        )
    }

    pub fn with_deps(options: Options, deps: CallbackDeps) -> Result<Self, TlsSetupFailure> {
        let open = Arc::new(AtomicUsize::new(0));
        let connector = GuardedConnector::new(ssrf_guard::ConnectorConfig {
            resolver: deps.resolver,
            allowed: AllowedAddresses {
                ranges: options.allowed_ranges,
                denied: options.rules.denied_ranges.clone(),
            },
            rules: options.rules,
            tls: tls_connector(deps.roots)?,
            timeout: options.timeout,
            open_connections: Arc::clone(&open),
        });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            // Retries only a request that was certainly not sent, on another connection.
            .retry_canceled_requests(true)
            .build(connector);
        Ok(Self {
            client,
            timeout: options.timeout,
            schemes: options.schemes,
            open_connections: open,
        })
    }

    /// POSTs once. The attempt records the result or the error.
    pub async fn post(
        &self,
        url: &str,
        body: Bytes,
        signature: Option<&SignatureHeaders>,
        trace: Option<TraceContext>,
    ) -> CallbackAttempt {
        let started = Instant::now();
        let mut attempt = CallbackAttempt::default();
        let request = build_request(body, signature, trace);
        let exchange = self.exchange(url, request, &mut attempt);
        let ended = tokio::time::timeout(self.timeout, exchange).await;
        let failure = match ended {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            Err(_) => Some(ExchangeFailure::TimedOut(self.timeout)),
        };
        attempt.error = failure.map(|failure| failure.to_string());
        attempt.latency = started.elapsed();
        attempt
    }

    /// Writes into `attempt` as it goes, so that a timeout keeps the status and the excerpt.
    async fn exchange(
        &self,
        url: &str,
        mut request: Request<Full<Bytes>>,
        attempt: &mut CallbackAttempt,
    ) -> Result<(), ExchangeFailure> {
        let uri = callback_url::parse(url).ok_or(ExchangeFailure::InvalidUrl)?;
        // Load refuses such a URL too, but this one may have been loaded under another setting.
        if self.schemes == AllowedSchemes::HttpsOnly && uri.scheme() != Some(&Scheme::HTTPS) {
            return Err(ExchangeFailure::PlainHttp);
        }
        *request.uri_mut() = uri;
        if self.open_connections.load(Ordering::Relaxed) > MAX_OPEN_CONNECTIONS {
            let close = HeaderValue::from_static("close");
            request.headers_mut().insert(CONNECTION, close);
        }
        let response = self
            .client
            .request(request)
            .await
            .map_err(ExchangeFailure::from_client)?;
        let status = response.status();
        attempt.status = Some(status.as_u16());
        let is_redirect = status.is_redirection() && response.headers().contains_key(LOCATION);
        match read_body(response.into_body(), attempt).await {
            // The receiver has acknowledged: it must not get the callback again for a cut body.
            Err(_) if status.is_success() => Ok(()),
            Err(failure) => Err(ExchangeFailure::ResponseCut(failure)),
            Ok(()) if is_redirect => Err(ExchangeFailure::Redirect),
            Ok(()) => Ok(()),
        }
    }
}

#[async_trait]
impl CallbackClient for HttpCallbackClient {
    async fn post(
        &self,
        url: &str,
        body: Bytes,
        signature: Option<&SignatureHeaders>,
        trace: Option<TraceContext>,
    ) -> CallbackAttempt {
        Self::post(self, url, body, signature, trace).await
    }
}

/// The headers of a callback, wherever it is sent.
pub fn callback_headers(
    signature: Option<&SignatureHeaders>,
    trace: Option<TraceContext>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(LONGSHORE_USER_AGENT));
    for (name, value) in signature.into_iter().flat_map(SignatureHeaders::pairs) {
        // Ids, digits and base64 are valid in every header.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    if let Some(Ok(value)) = trace.map(|trace| HeaderValue::from_str(&trace.to_string())) {
        headers.insert(TRACEPARENT, value);
    }
    headers
}

/// The error of an attempt that had no complete answer in time.
pub fn timeout_error(timeout: Duration) -> String {
    ExchangeFailure::TimedOut(timeout).to_string()
}

/// The request without its URL.
fn build_request(
    body: Bytes,
    signature: Option<&SignatureHeaders>,
    trace: Option<TraceContext>,
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = callback_headers(signature, trace);
    request
}

/// Reads the body to its end or to the limit. Dropping a body early closes its connection.
async fn read_body(mut body: Incoming, attempt: &mut CallbackAttempt) -> Result<(), hyper::Error> {
    let mut left = MAX_BODY_BYTES_READ;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        keep_excerpt(&data, &mut attempt.response_excerpt);
        match left.checked_sub(data.len()) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    Ok(())
}

/// Copies, because a slice would keep the whole read buffer alive.
fn keep_excerpt(data: &Bytes, answer: &mut Bytes) {
    let room = MAX_BODY_BYTES_KEPT
        .saturating_sub(answer.len())
        .min(data.len());
    if room > 0 {
        let kept = data.get(..room).unwrap_or_default();
        *answer = [answer, kept].concat().into();
    }
}
