//! An HTTP client for bodies of any size, as callers of the Files API need it.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::harness::sha256::StreamingSha256;

/// Longer than any response may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client<HttpConnector, Full<Bytes>>,
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

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The error says why there is no response.
pub type HttpResult<T> = std::result::Result<T, String>;

impl Default for HttpClient {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }
}

impl HttpClient {
    /// Sends one request, never retried: the caller decides what a failure means.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> HttpResult<HttpResponse> {
        let exchange = async {
            let response = self.start_request(request).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?;
            Ok(HttpResponse {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let answered = tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await;
        answered.unwrap_or_else(|_| Err("no response in time".to_owned()))
    }

    /// Downloads a URL without keeping the bytes: its status, digest and length.
    pub async fn fetch_digest(&self, url: &str) -> HttpResult<(u16, StreamingSha256)> {
        let exchange = async {
            let request = Request::get(url).body(Full::default());
            let request = request.map_err(|error| error.to_string())?;
            let mut response = self.start_request(request).await?;
            let mut digest = StreamingSha256::new();
            while let Some(frame) = response.body_mut().frame().await {
                let frame = frame.map_err(|error| error.to_string())?;
                if let Some(chunk) = frame.data_ref() {
                    digest.update(chunk);
                }
            }
            Ok((response.status().as_u16(), digest))
        };
        let answered = tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await;
        answered.unwrap_or_else(|_| Err("no response in time".to_owned()))
    }

    async fn start_request(&self, request: Request<Full<Bytes>>) -> HttpResult<Response<Incoming>> {
        let answered = self.client.request(request).await;
        answered.map_err(|error| error.to_string())
    }
}
