//! A receiver of callbacks whose answers have a marker.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;

/// Serves until it is dropped.
#[derive(Debug)]
pub(super) struct MarkerReceiver {
    address: SocketAddr,
    count: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl MarkerReceiver {
    pub(super) async fn start(answer: &str) -> Result<Self> {
        let (count, answer) = (
            Arc::<AtomicUsize>::default(),
            Bytes::from(answer.to_owned()),
        );
        let counted = Arc::clone(&count);
        let serve = move |stream| serve_connection(stream, Arc::clone(&counted), answer.clone());
        let (address, serving) = listener::serve_on_free_port("a receiver", serve).await?;
        Ok(Self {
            address,
            count,
            _serving: serving,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// How many callbacks have arrived.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

async fn serve_connection(stream: TcpStream, count: Arc<AtomicUsize>, answer: Bytes) {
    let respond = service_fn(|request: Request<Incoming>| {
        let (count, answer) = (Arc::clone(&count), answer.clone());
        async move {
            if request.into_body().collect().await.is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Infallible>(Response::new(Full::new(answer)))
        }
    });
    // The service may close the connection at any time.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), respond)
        .await;
}
