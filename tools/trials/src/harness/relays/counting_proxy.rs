//! A proxy between the service and the model's server: forwards every call and logs the
//! requests.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::relays::listener;
use crate::harness::relays::request_log::{self, RequestEnd, RequestLog};
use crate::harness::{ConnectionReuse, HttpClient, Result};

/// A slow model on a busy machine takes minutes.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(1);

/// Listens until it is dropped.
#[derive(Debug)]
pub struct CountingProxy {
    pub address: SocketAddr,
    pub request_log: Arc<RequestLog>,
    _serving: JoinSet<()>,
}

impl CountingProxy {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let request_log = Arc::new(RequestLog::default());
        let onward = Arc::new(ProxyTarget {
            address: to,
            request_log: Arc::clone(&request_log),
            // A reused connection could have been closed meanwhile.
            client: HttpClient::new(ANSWER_TIMEOUT, ConnectionReuse::PerRequest),
        });
        let proxy = move |stream: TcpStream| {
            let onward = Arc::clone(&onward);
            async move {
                let pass = service_fn(|request| onward.forward(request));
                // The trial kills both the worker and the model's server.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), pass)
                    .await;
            }
        };
        let (address, serving) = listener::serve_on_free_port("a proxy", proxy).await?;
        Ok(Self {
            address,
            request_log,
            _serving: serving,
        })
    }
}

#[derive(Debug)]
struct ProxyTarget {
    address: SocketAddr,
    request_log: Arc<RequestLog>,
    client: HttpClient,
}

impl ProxyTarget {
    /// After an error, the connection closes without a response.
    async fn forward(&self, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
        let id = request.headers().get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
        // The service also asks for health and models, by GET.
        let is_question = request.method() == Method::POST && !request_log::is_probe(id);
        let question = is_question.then(|| self.request_log.begin_request(id));
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?;
        let request = Request::from_parts(head, Full::new(body.to_bytes()));
        let host = self.address.to_string();
        let answered = match self.client.send_to(&host, request).await {
            Ok(answered) => answered,
            Err(error) => {
                let is_unreachable = error.kind() == io::ErrorKind::ConnectionRefused;
                if let Some(question) = question.filter(|_| is_unreachable) {
                    question.end(RequestEnd::NotReceived);
                }
                return Err(error);
            }
        };
        if let Some(question) = question {
            question.end(RequestEnd::from_response(answered.status, &answered.body));
        }
        let mut response = Response::new(Full::new(answered.body));
        *response.status_mut() = StatusCode::from_u16(answered.status).map_err(io::Error::other)?;
        *response.headers_mut() = answered.headers;
        Ok(response)
    }
}
