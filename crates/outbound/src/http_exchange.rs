//! One HTTP exchange with a server that the operator configured: a deadline, a limit on the size of
//! the response, and a failure that says how far the exchange came.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;

use crate::connection::Dialer;
use crate::tls::{TlsSetupFailure, tls_connector};

/// Servers commonly close connections that are idle for longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_IDLE_CONNECTIONS_PER_HOST: usize = 64;

pub(crate) const LONGSHORE_USER_AGENT: &str = concat!("longshore/", env!("CARGO_PKG_VERSION"));

/// What happened instead of a complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// The request was not sent.
    #[error("could not connect")]
    NotConnected(Option<io::ErrorKind>),
    /// The server may have received the request.
    #[error("the connection ended before the response")]
    NoResponse(Option<io::ErrorKind>),
    #[error("the response was cut off")]
    ResponseCut,
    #[error("the response is too large")]
    ResponseTooLarge,
    /// The server may have received the request.
    #[error("no answer in time")]
    TimedOut(Duration),
}

/// Keeps connections alive.
pub(crate) struct OutboundHttpClient<B>(Client<Dialer, B>);

impl<B> OutboundHttpClient<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Does not connect yet. An https server is verified with these root certificates.
    pub(crate) fn new(
        connect_timeout: Duration,
        roots: RootCertStore,
    ) -> Result<Self, TlsSetupFailure> {
        Self::connecting_to(None, connect_timeout, roots)
    }

    /// The same, but connects to another address than the requests name.
    pub(crate) fn connecting_to(
        address: Option<Uri>,
        connect_timeout: Duration,
        roots: RootCertStore,
    ) -> Result<Self, TlsSetupFailure> {
        let dialer = Dialer::new(tls_connector(roots)?, connect_timeout).connecting_to(address);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS_PER_HOST)
            .build(dialer);
        Ok(Self(client))
    }

    /// Sends the request once, and returns the head of the response. The body follows.
    pub(crate) async fn send(
        &self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, HttpFailure> {
        let sent = self.0.request(request).await;
        sent.map_err(|error| HttpFailure::from_client(&error))
    }

    /// Sends the request once, and reads the whole response.
    pub(crate) async fn exchange(
        &self,
        request: Request<B>,
        deadline: Duration,
        max_bytes: usize,
    ) -> Result<Response<Bytes>, HttpFailure> {
        within(deadline, async {
            read_response(self.send(request).await?, max_bytes).await
        })
        .await?
    }
}

impl HttpFailure {
    fn from_client(error: &legacy::Error) -> Self {
        let kind = innermost_io_error(error);
        if error.is_connect() {
            Self::NotConnected(kind)
        } else {
            Self::NoResponse(kind)
        }
    }
}

/// Ends an exchange, or several, at the deadline.
pub(crate) async fn within<T>(
    deadline: Duration,
    exchange: impl Future<Output = T>,
) -> Result<T, HttpFailure> {
    let ended = timeout(deadline, exchange).await;
    ended.map_err(|_| HttpFailure::TimedOut(deadline))
}

pub(crate) async fn read_response(
    response: Response<Incoming>,
    max_bytes: usize,
) -> Result<Response<Bytes>, HttpFailure> {
    let (head, body) = response.into_parts();
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(Response::from_parts(head, body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Err(HttpFailure::ResponseTooLarge),
        Err(_) => Err(HttpFailure::ResponseCut),
    }
}

/// The next bytes of a body, or `None` at its end.
pub(crate) async fn next_chunk(
    body: &mut Incoming,
    deadline: Duration,
) -> Result<Option<Bytes>, HttpFailure> {
    loop {
        let frame = within(deadline, body.frame()).await?.transpose();
        let Some(frame) = frame.map_err(|_| HttpFailure::ResponseCut)? else {
            return Ok(None);
        };
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
}

fn innermost_io_error(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let kinds = causes.filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    kinds.last()
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const DEADLINE: Duration = Duration::from_mins(1);

    /// Sends a request to a server that answers it with these bytes and closes the connection.
    async fn exchange_with(answer: &'static str, max_bytes: usize) -> Result<Bytes, HttpFailure> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                connection.read_buf(&mut request).await.unwrap();
            }
            connection.write_all(answer.as_bytes()).await.unwrap();
        };
        let (response, ()) = tokio::join!(send_to(address, DEADLINE, max_bytes), server);
        response
    }

    async fn send_to(
        address: std::net::SocketAddr,
        deadline: Duration,
        max_bytes: usize,
    ) -> Result<Bytes, HttpFailure> {
        let client = OutboundHttpClient::new(DEADLINE, RootCertStore::empty()).unwrap();
        let request = Request::get(format!("http://{address}/"));
        let request = request.body(Empty::new()).unwrap();
        let response = client.exchange(request, deadline, max_bytes).await;
        response.map(Response::into_body)
    }

    #[tokio::test]
    async fn a_failure_says_how_far_the_exchange_came() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nahoy";
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nahoy";
        assert_eq!(exchange_with(whole, 4).await.unwrap(), "ahoy");
        let too_large = exchange_with(whole, 3).await.unwrap_err();
        assert_eq!(too_large, HttpFailure::ResponseTooLarge);
        let cut = exchange_with(cut, 9).await.unwrap_err();
        assert_eq!(cut, HttpFailure::ResponseCut);
        let silent = exchange_with("", 9).await.unwrap_err();
        assert!(matches!(silent, HttpFailure::NoResponse(_)), "{silent:?}");
    }

    #[tokio::test]
    async fn a_server_that_is_down_is_told_from_a_silent_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let silent = send_to(address, Duration::ZERO, 9).await;
        assert_eq!(silent, Err(HttpFailure::TimedOut(Duration::ZERO)));
        let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let down = send_to(closed, DEADLINE, 9).await;
        let refused = Some(io::ErrorKind::ConnectionRefused);
        assert_eq!(down, Err(HttpFailure::NotConnected(refused)));
    }
}
