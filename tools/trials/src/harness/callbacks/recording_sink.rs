//! A callback sink that acknowledges every callback and records its body.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::harness::callbacks::callback_log::CallbackLog;
use crate::harness::failure::{FailureContext as _, Result};

/// Listens until it is dropped.
#[derive(Debug)]
pub struct RecordingCallbackSink {
    pub callback_log: Arc<CallbackLog>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl RecordingCallbackSink {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("listening for callbacks")?;
        let address = listener.local_addr().context("listening for callbacks")?;
        let callback_log = Arc::new(CallbackLog::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&callback_log)));
        Ok(Self {
            callback_log,
            address,
            _serving: serving,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}

async fn serve(listener: TcpListener, callback_log: Arc<CallbackLog>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let callback_log = Arc::clone(&callback_log);
        connections.spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| async {
                // A truncated callback is ignored: the service sends it again.
                if let Ok(body) = request.into_body().collect().await {
                    callback_log.record_callback(body.to_bytes());
                }
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            });
            // The service may close the connection at any time.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}
