//! A proxy between the service and the model's server: forwards every call and logs the
//! requests.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;
use crate::harness::relays::request_log::{RequestEnd, RequestLog};

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
            // One connection per call: a reused one could have been closed meanwhile.
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(HttpConnector::new()),
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
    client: Client<HttpConnector, Full<Bytes>>,
}

/// The connection closes without a response.
#[derive(Debug)]
struct NoAnswer;

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for NoAnswer {}

impl ProxyTarget {
    async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> std::result::Result<Response<Full<Bytes>>, NoAnswer> {
        let id = request.headers().get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
        // The service also asks for health and models, by GET.
        let is_question = request.method() == Method::POST;
        let question = is_question.then(|| self.request_log.begin_request(id));
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
        head.uri = format!("http://{}{path}", self.address)
            .parse()
            .map_err(|_| NoAnswer)?;
        let body = body.collect().await.map_err(|_| NoAnswer)?.to_bytes();
        let request = Request::from_parts(head, Full::new(body));
        let answered = match self.client.request(request).await {
            Ok(answered) => answered,
            Err(error) => {
                if let Some(question) = question.filter(|_| error.is_connect()) {
                    question.end(RequestEnd::NotReceived);
                }
                return Err(NoAnswer);
            }
        };
        let (head, body) = answered.into_parts();
        let body = body.collect().await.map_err(|_| NoAnswer)?.to_bytes();
        if let Some(question) = question {
            question.end(RequestEnd::from_response(head.status.as_u16(), &body));
        }
        Ok(Response::from_parts(head, Full::new(body)))
    }
}
