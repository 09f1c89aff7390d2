//! A receiver of callbacks whose answers have a marker.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;

#[derive(Debug)]
struct ReceiverState {
    answer: Bytes,
    count: AtomicUsize,
    acknowledges: AtomicBool,
}

/// Serves until it is dropped.
#[derive(Debug)]
pub(super) struct MarkerReceiver {
    address: SocketAddr,
    state: Arc<ReceiverState>,
    _serving: JoinSet<()>,
}

impl MarkerReceiver {
    /// Acknowledges every callback, or refuses them until it is told to acknowledge them.
    pub(super) async fn start(answer: &str, acknowledges: bool) -> Result<Self> {
        let state = Arc::new(ReceiverState {
            answer: Bytes::from(answer.to_owned()),
            count: AtomicUsize::new(0),
            acknowledges: AtomicBool::new(acknowledges),
        });
        let served = Arc::clone(&state);
        let serve = move |stream| serve_connection(stream, Arc::clone(&served));
        let (address, serving) = listener::serve_on_free_port("a receiver", serve).await?;
        Ok(Self {
            address,
            state,
            _serving: serving,
        })
    }

    /// From the next callback on.
    pub(super) fn acknowledge(&self) {
        self.state.acknowledges.store(true, Ordering::Relaxed);
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// How many callbacks have arrived.
    pub(super) fn count(&self) -> usize {
        self.state.count.load(Ordering::Relaxed)
    }
}

async fn serve_connection(stream: TcpStream, state: Arc<ReceiverState>) {
    let respond = service_fn(|request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move {
            if request.into_body().collect().await.is_ok() {
                state.count.fetch_add(1, Ordering::Relaxed);
            }
            let mut response = Response::new(Full::new(state.answer.clone()));
            if !state.acknowledges.load(Ordering::Relaxed) {
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            }
            Ok::<_, Infallible>(response)
        }
    });
    // The service may close the connection at any time.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), respond)
        .await;
}
