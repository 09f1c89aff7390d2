//! The HTTP client of trials: a pool of keep-alive connections.
//!
//! It never sends a request twice: the trial decides what a failure means.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::harness::build_profile;
use crate::harness::http::body_search::find_cargo_id;
use crate::harness::{FailureContext as _, Result, StreamingSha256, TrialFailure};

/// Longer than any response may take.
const RESPONSE_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(90));

pub type HttpRequest = Request<Full<Bytes>>;

/// Whether requests share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionReuse {
    KeepAlive,
    PerRequest,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl HttpResponse {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The response to a repeated idempotency key.
    pub fn is_replay(&self) -> bool {
        self.headers.contains_key("idempotent-replay")
    }

    /// Whole seconds of `Retry-After`.
    pub fn retry_after(&self) -> Option<u64> {
        self.header("retry-after")?.parse().ok()
    }

    pub fn cargo_id(&self) -> Option<u128> {
        find_cargo_id(&self.body)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Debug, Clone)]
pub struct HttpClient {
    timeout: Duration,
    reuse: ConnectionReuse,
    /// By host and port.
    idle: Arc<Mutex<HashMap<String, Vec<HttpConnection>>>>,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new(RESPONSE_TIMEOUT, ConnectionReuse::KeepAlive)
    }
}

impl HttpClient {
    pub fn new(timeout: Duration, reuse: ConnectionReuse) -> Self {
        Self {
            timeout,
            reuse,
            idle: Arc::default(),
        }
    }

    /// Sends one request to the host of its URL.
    pub async fn send(&self, request: HttpRequest) -> io::Result<HttpResponse> {
        let host = request_host(&request)?;
        self.exchange(&host, request, None).await
    }

    /// Sends one request to this host and port.
    pub async fn send_to(&self, host: &str, request: HttpRequest) -> io::Result<HttpResponse> {
        self.exchange(host, request, None).await
    }

    /// Downloads a URL without keeping the bytes: its status, digest and length.
    pub async fn fetch_digest(&self, url: &str) -> io::Result<(u16, StreamingSha256)> {
        let request = Request::get(url).body(Full::default());
        let request = request.map_err(io::Error::other)?;
        let (host, mut digest) = (request_host(&request)?, StreamingSha256::default());
        let response = self.exchange(&host, request, Some(&mut digest)).await?;
        Ok((response.status, digest))
    }

    /// Sends one request that must succeed.
    pub async fn call(&self, request: Builder, body: impl Into<Bytes>) -> Result<HttpResponse> {
        let request = request.body(Full::new(body.into()));
        let request = request.context("building a request")?;
        let what = format!("{} {}", request.method(), request.uri());
        let response = self.send(request).await.context(&what)?;
        if response.is_success() {
            return Ok(response);
        }
        let (status, text) = (response.status, response.text());
        Err(TrialFailure::new(format!("{what}: {status} {text}")))
    }

    pub fn close_idle_connections(&self) {
        self.idle.lock().clear();
    }

    async fn exchange(
        &self,
        host: &str,
        mut request: HttpRequest,
        digest: Option<&mut StreamingSha256>,
    ) -> io::Result<HttpResponse> {
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        let header = HeaderValue::from_str(host).map_err(io::Error::other)?;
        request.headers_mut().insert(HOST, header);
        let exchange = async {
            let mut connection = match self.take_idle_connection(host) {
                Some(connection) => connection,
                None => HttpConnection::open(host).await?,
            };
            let response = connection.exchange(request, digest).await?;
            if self.reuse == ConnectionReuse::KeepAlive {
                let mut idle = self.idle.lock();
                idle.entry(host.to_owned()).or_default().push(connection);
            }
            Ok(response)
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Err(error)) => {
                // If the server is gone, its other connections are dead, too.
                self.idle.lock().remove(host);
                Err(error)
            }
            Ok(answered) => answered,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn take_idle_connection(&self, host: &str) -> Option<HttpConnection> {
        let mut idle = self.idle.lock();
        let idle = idle.get_mut(host)?;
        loop {
            let mut connection = idle.pop()?;
            if !connection.is_closed() {
                return Some(connection);
            }
        }
    }
}

fn request_host(request: &HttpRequest) -> io::Result<String> {
    let host = request.uri().authority().map(ToString::to_string);
    host.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// One connection. No task runs beside it: an exchange drives it.
#[derive(Debug)]
struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: Pin<Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>>,
    has_ended: bool,
}

impl HttpConnection {
    async fn open(host: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) = opened.map_err(to_io_error)?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
            has_ended: false,
        })
    }

    /// Whether the server has closed it, or sent unexpected bytes, since the last exchange.
    fn is_closed(&mut self) -> bool {
        self.has_ended || self.driver.as_mut().now_or_never().is_some()
    }

    async fn exchange(
        &mut self,
        request: HttpRequest,
        digest: Option<&mut StreamingSha256>,
    ) -> io::Result<HttpResponse> {
        let Self {
            sender,
            driver,
            has_ended,
        } = self;
        let answer = async {
            sender.ready().await?;
            read_response(sender.send_request(request).await?, digest).await
        };
        let mut answer = pin!(answer);
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            // The rest of the answer is already here, or the error.
            _ = driver.as_mut() => {
                *has_ended = true;
                answer.await
            }
        };
        answered.map_err(to_io_error)
    }
}

/// With a digest, the body is hashed and not kept.
async fn read_response(
    mut response: Response<Incoming>,
    mut digest: Option<&mut StreamingSha256>,
) -> hyper::Result<HttpResponse> {
    let mut body = BytesMut::new();
    while let Some(frame) = response.body_mut().frame().await {
        if let Some(chunk) = frame?.data_ref() {
            match &mut digest {
                Some(digest) => digest.update(chunk),
                None => body.extend_from_slice(chunk),
            }
        }
    }
    Ok(HttpResponse {
        status: response.status().as_u16(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
    })
}

/// Keeps the kind of a connection error, so that errors can be counted.
fn to_io_error(error: hyper::Error) -> io::Error {
    let cause = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    let is_cut = error.is_incomplete_message() || error.is_closed() || error.is_canceled();
    let kind = match cause {
        Some(cause) => cause.kind(),
        None if is_cut => io::ErrorKind::UnexpectedEof,
        None => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}
