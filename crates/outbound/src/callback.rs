//! The callback: one POST, within one deadline, to an address that may be called.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use domain::address::Allowed;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ipnet::IpNet;
use tokio_rustls::rustls::RootCertStore;

mod connect;
mod failure;
mod lookup_slots;
mod resolve;
mod stream;
mod target;
mod trust;

pub use resolve::{Resolve, System};
pub(crate) use trust::connector as tls;
pub use trust::{SetupFailure, native_roots};

use connect::Connector;
use failure::ExchangeFailure;

/// How much of an answer's body is read; what comes after it is left unread.
const MOST_READ: usize = 64 * 1024;
/// How much of it is kept for the caller to see.
const MOST_KEPT: usize = 1024;
/// How large status line and headers may be together.
const MOST_HEAD: usize = 64 * 1024;
/// Receivers commonly close what idles for 5 s. Leaving earlier, we never send into a closing door.
const IDLE: Duration = Duration::from_secs(4);
const MOST_IDLE_PER_HOST: usize = 1024;
/// Beyond this many open connections none is kept for later, however many hosts there are.
const MOST_OPEN: usize = 8192;

#[derive(Debug, Clone)]
pub struct Options {
    /// For the whole exchange: resolving, connecting, sending and reading.
    pub timeout: Duration,
    /// Ranges that may be called although they are not global.
    pub allow: Vec<IpNet>,
}

/// What a client of ours finds around it: the system's, unless a test says otherwise.
#[derive(Debug)]
pub struct Surroundings {
    pub resolver: Arc<dyn Resolve>,
    pub roots: RootCertStore,
}

/// What became of one POST.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    pub status: Option<u16>,
    /// Short and for the caller to read. A whole answer that is no success may have none.
    pub error: Option<String>,
    pub latency: Duration,
    /// The first bytes of the answer's body.
    pub answer: Bytes,
}

impl Attempt {
    /// A status counts only when the exchange ended well and in time.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
            && self
                .status
                .is_some_and(|status| (200..300).contains(&status))
    }
}

/// Who makes the POSTs: [`Callbacks`], or a receiver inside a test.
#[async_trait]
pub trait CallbackClient: Send + Sync + fmt::Debug {
    /// POSTs once. Whatever happens is told in the attempt.
    async fn post(&self, url: &str, body: Bytes) -> Attempt;
}

/// Sends callbacks over connections that are kept and used again.
#[derive(Debug, Clone)]
pub struct Callbacks {
    client: Client<Connector, Full<Bytes>>,
    timeout: Duration,
    open: Arc<AtomicUsize>,
}

impl Callbacks {
    pub fn new(options: Options) -> Result<Self, SetupFailure> {
        let roots = native_roots();
        if roots.is_empty() {
            tracing::warn!("the system trusts no certificate: every https callback will fail");
        }
        Self::within(
            options,
            Surroundings {
                resolver: Arc::new(System::default()),
                roots,
            },
        )
    }

    pub fn within(options: Options, surroundings: Surroundings) -> Result<Self, SetupFailure> {
        let open = Arc::new(AtomicUsize::new(0));
        let connector = Connector::new(connect::Rules {
            resolver: surroundings.resolver,
            allowed: Allowed {
                ranges: options.allow,
            },
            tls: trust::connector(surroundings.roots)?,
            timeout: options.timeout,
            open: Arc::clone(&open),
        });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MOST_IDLE_PER_HOST)
            .http1_max_buf_size(MOST_HEAD)
            // Only what was certainly not sent goes out again, over another connection.
            .retry_canceled_requests(true)
            .build(connector);
        Ok(Self {
            client,
            timeout: options.timeout,
            open,
        })
    }

    /// POSTs once. Whatever happens is told in the attempt.
    pub async fn post(&self, url: &str, body: Bytes) -> Attempt {
        let started = Instant::now();
        let mut attempt = Attempt::default();
        let exchange = self.exchange(url, body, &mut attempt);
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

    /// Notes in `attempt` what is known so far, so that it survives the deadline.
    async fn exchange(
        &self,
        url: &str,
        body: Bytes,
        attempt: &mut Attempt,
    ) -> Result<(), ExchangeFailure> {
        let uri = target::read(url).ok_or(ExchangeFailure::NotAUrl)?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if self.open.load(Ordering::Relaxed) > MOST_OPEN {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let response = self
            .client
            .request(request)
            .await
            .map_err(ExchangeFailure::from_client)?;
        attempt.status = Some(response.status().as_u16());
        let elsewhere =
            response.status().is_redirection() && response.headers().contains_key(LOCATION);
        read(response.into_body(), attempt)
            .await
            .map_err(ExchangeFailure::Cut)?;
        if elsewhere {
            Err(ExchangeFailure::Redirect)
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl CallbackClient for Callbacks {
    async fn post(&self, url: &str, body: Bytes) -> Attempt {
        Self::post(self, url, body).await
    }
}

const AGENT: &str = concat!("longshore/", env!("CARGO_PKG_VERSION"));

/// Reads the answer to its end or to its limit. A body dropped before its end takes its connection along.
async fn read(mut body: Incoming, attempt: &mut Attempt) -> Result<(), hyper::Error> {
    let mut left = MOST_READ;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        keep(&data, &mut attempt.answer);
        match left.checked_sub(data.len()) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    Ok(())
}

/// Copies, because a slice would hold the whole read buffer.
fn keep(data: &Bytes, answer: &mut Bytes) {
    let room = MOST_KEPT.saturating_sub(answer.len()).min(data.len());
    if room > 0 {
        let kept = data.get(..room).unwrap_or_default();
        *answer = [answer, kept].concat().into();
    }
}
