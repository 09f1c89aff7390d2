//! HTTP for bodies of any size: what a caller of the Files API needs.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::digest::Digest;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug, Clone)]
pub struct Web {
    client: Client<HttpConnector, Full<Bytes>>,
}

/// An answer that has come whole.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
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

/// Why no answer came, in words.
pub type Answered<T> = std::result::Result<T, String>;

impl Default for Web {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }
}

impl Web {
    /// One request, never repeated: whoever calls decides what a failure means.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answered<Reply> {
        let exchange = async {
            let response = self.begin(request).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?;
            Ok(Reply {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let answered = tokio::time::timeout(PATIENCE, exchange).await;
        answered.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    /// What a URL holds, without keeping it: the status, and its digest and length.
    pub async fn digest(&self, url: &str) -> Answered<(u16, Digest)> {
        let exchange = async {
            let request = Request::get(url).body(Full::default());
            let request = request.map_err(|error| error.to_string())?;
            let mut response = self.begin(request).await?;
            let mut digest = Digest::new();
            while let Some(frame) = response.body_mut().frame().await {
                let frame = frame.map_err(|error| error.to_string())?;
                if let Some(chunk) = frame.data_ref() {
                    digest.update(chunk);
                }
            }
            Ok((response.status().as_u16(), digest))
        };
        let answered = tokio::time::timeout(PATIENCE, exchange).await;
        answered.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    async fn begin(&self, request: Request<Full<Bytes>>) -> Answered<Response<Incoming>> {
        let answered = self.client.request(request).await;
        answered.map_err(|error| error.to_string())
    }
}
