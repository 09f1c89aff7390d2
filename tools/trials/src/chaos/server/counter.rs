//! Between the service and the model's server: passes every call on, and writes the questions down.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
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
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::chaos::server::register::{End, Register};
use crate::failure::{During as _, Result};

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Counter {
    pub address: SocketAddr,
    pub register: Arc<Register>,
    _serving: JoinSet<()>,
}

impl Counter {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.during("listening for questions")?;
        let address = listener.local_addr().during("listening for questions")?;
        let register = Arc::new(Register::default());
        let onward = Onward {
            to,
            register: Arc::clone(&register),
            // A connection for each call: none can be found dead that was alive before.
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(HttpConnector::new()),
        };
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::new(onward)));
        Ok(Self {
            address,
            register,
            _serving: serving,
        })
    }
}

#[derive(Debug)]
struct Onward {
    to: SocketAddr,
    register: Arc<Register>,
    client: Client<HttpConnector, Full<Bytes>>,
}

async fn serve(listener: TcpListener, onward: Arc<Onward>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let onward = Arc::clone(&onward);
        connections.spawn(async move {
            let pass = service_fn(|request| onward.pass(request));
            // Whoever asked may be killed, and so may who answers.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), pass)
                .await;
        });
    }
}

/// There is no answer: the connection is closed without one.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for Cut {}

impl Onward {
    async fn pass(
        &self,
        request: Request<Incoming>,
    ) -> std::result::Result<Response<Full<Bytes>>, Cut> {
        let id = request.headers().get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
        // Its health and its models are asked for, too.
        let is_question = request.method() == Method::POST;
        let question = is_question.then(|| self.register.begin(id));
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
        head.uri = format!("http://{}{path}", self.to)
            .parse()
            .map_err(|_| Cut)?;
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        let asked = Request::from_parts(head, Full::new(body));
        let answered = match self.client.request(asked).await {
            Ok(answered) => answered,
            Err(error) => {
                if let Some(question) = question.filter(|_| error.is_connect()) {
                    question.end(End::NotAsked);
                }
                return Err(Cut);
            }
        };
        let (head, body) = answered.into_parts();
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        if let Some(question) = question {
            question.end(End::of(head.status.as_u16(), &body));
        }
        Ok(Response::from_parts(head, Full::new(body)))
    }
}
