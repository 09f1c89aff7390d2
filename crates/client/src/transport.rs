//! One HTTP exchange, without retries: with the service, the object store or a receiver.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;

use crate::connection::CallerConnector;
use crate::slow_body::SlowBody;

/// Servers commonly close connections that are idle for longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Larger answers are streamed, not read at once.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Why there is no complete answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportFailure {
    /// The request was not sent.
    #[error("could not connect: {0}")]
    NotConnected(String),
    /// The server may have received the request.
    #[error("the connection ended before the answer: {0}")]
    Lost(String),
    /// The server may have received the request.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS could not be set up: {0}")]
pub struct TransportSetupError(String);

/// Keeps connections open. A clone uses the same ones.
#[derive(Clone)]
pub struct Transport(Client<CallerConnector, RequestBody>);

type RequestBody = UnsyncBoxBody<Bytes, Infallible>;

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

impl Transport {
    pub fn new() -> Result<Self, TransportSetupError> {
        let connector = CallerConnector::new();
        let connector = connector.map_err(|error| TransportSetupError(error.to_string()))?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            // The retry rule decides what is sent again, not the pool.
            .retry_canceled_requests(false)
            .build(connector);
        Ok(Self(client))
    }

    /// Sends the request once, and returns the head of the answer. The body follows.
    pub async fn open(
        &self,
        request: Request<Full<Bytes>>,
        deadline: Duration,
    ) -> Result<Response<Incoming>, TransportFailure> {
        self.send(request.map(Full::boxed_unsync), deadline).await
    }

    async fn send(
        &self,
        request: Request<RequestBody>,
        deadline: Duration,
    ) -> Result<Response<Incoming>, TransportFailure> {
        let sent = timeout(deadline, self.0.request(request)).await;
        let sent = sent.map_err(|_| TransportFailure::TimedOut(deadline))?;
        sent.map_err(|error| TransportFailure::from_client(&error))
    }

    /// Sends the request once, and reads the whole answer. Redirects are not followed.
    pub async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        deadline: Duration,
    ) -> Result<Response<Bytes>, TransportFailure> {
        self.exchange_body(request.map(Full::boxed_unsync), deadline)
            .await
    }

    /// The same, with the body in `pieces` parts and a pause before each.
    pub async fn exchange_slowly(
        &self,
        request: Request<Bytes>,
        pieces: usize,
        pause: Duration,
        deadline: Duration,
    ) -> Result<Response<Bytes>, TransportFailure> {
        let slow = |body| SlowBody::new(body, pieces, pause).boxed_unsync();
        self.exchange_body(request.map(slow), deadline).await
    }

    async fn exchange_body(
        &self,
        request: Request<RequestBody>,
        deadline: Duration,
    ) -> Result<Response<Bytes>, TransportFailure> {
        let exchange = async {
            let answer = self.send(request, deadline).await?;
            read_whole(answer).await
        };
        let ended = timeout(deadline, exchange).await;
        ended.unwrap_or(Err(TransportFailure::TimedOut(deadline)))
    }
}

pub(crate) async fn read_whole(
    answer: Response<Incoming>,
) -> Result<Response<Bytes>, TransportFailure> {
    let (head, body) = answer.into_parts();
    let read = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
    let body = read.map_err(|error| TransportFailure::Lost(innermost(&*error)))?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

impl TransportFailure {
    /// Whether any byte of the request may have reached the server.
    pub const fn was_sent(&self) -> bool {
        match self {
            Self::NotConnected(_) => false,
            Self::Lost(_) | Self::TimedOut(_) => true,
        }
    }

    fn from_client(error: &legacy::Error) -> Self {
        let reason = innermost(error);
        if error.is_connect() {
            Self::NotConnected(reason)
        } else {
            Self::Lost(reason)
        }
    }
}

/// The first cause in words, which says more than what failed because of it.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let last = causes.last().unwrap_or(error);
    match last.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::TimedOut) => "no connection in time".to_owned(),
        Some(_) | None => last.to_string(),
    }
}
