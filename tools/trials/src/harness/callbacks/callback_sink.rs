//! A callback sink: a server that answers 200 and records callbacks.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::harness::callbacks::receipts::CallbackReceipts;
use crate::harness::relays::listener;
use crate::harness::{FailureContext as _, Result};

/// Where a sink listens, how it answers and what it keeps.
#[derive(Debug, Clone, Copy)]
pub struct SinkOptions {
    /// Unspecified means every loopback address, so that each organization can have its own.
    pub address: Ipv4Addr,
    /// Before each answer.
    pub delay: Duration,
    /// One of this many cargo has its first callback refused.
    pub refuse_first_one_of: Option<u128>,
    pub keeps_bodies: bool,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST,
            delay: Duration::ZERO,
            refuse_first_one_of: None,
            keeps_bodies: false,
        }
    }
}

/// Serves until it is dropped.
#[derive(Debug)]
pub struct CallbackSink {
    pub receipts: Arc<CallbackReceipts>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl CallbackSink {
    pub async fn start(options: SinkOptions) -> Result<Self> {
        let listener = TcpListener::bind((options.address, 0)).await;
        let listener = listener.context("listening for callbacks")?;
        let address = listener.local_addr().context("listening for callbacks")?;
        let receipts = Arc::new(CallbackReceipts::new(options.keeps_bodies));
        let recorded = Arc::clone(&receipts);
        let serve = move |stream| serve_connection(stream, Arc::clone(&recorded), options);
        Ok(Self {
            receipts,
            address,
            _serving: listener::serve_connections(listener, serve),
        })
    }

    pub fn url(&self) -> String {
        self.url_at(Ipv4Addr::LOCALHOST)
    }

    /// For a sink that listens on all addresses.
    pub fn url_at(&self, address: Ipv4Addr) -> String {
        format!("http://{address}:{}/hook", self.address.port())
    }
}

/// Whether the first callback of this cargo is refused.
pub const fn is_refused_first(cargo: u128, one_of: u128) -> bool {
    cargo.is_multiple_of(one_of)
}

async fn serve_connection(
    stream: TcpStream,
    receipts: Arc<CallbackReceipts>,
    options: SinkOptions,
) {
    // A callback is small and its sender waits: sends the response without delay.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request| respond(request, &receipts, options));
    // The service may close the connection at any time.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn respond(
    request: Request<Incoming>,
    receipts: &CallbackReceipts,
    options: SinkOptions,
) -> std::result::Result<Response<Empty<Bytes>>, Infallible> {
    let mut response = Response::new(Empty::new());
    match request.into_body().collect().await {
        Ok(body) => {
            let first = receipts.record_callback(&body.to_bytes());
            let first = first.filter(|(_, count)| *count == 1);
            if let Some(((cargo, _), one_of)) = first.zip(options.refuse_first_one_of)
                && is_refused_first(cargo, one_of)
            {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
        }
        Err(_) => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    if !options.delay.is_zero() {
        tokio::time::sleep(options.delay).await;
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;
    use crate::harness::http::http_client::HttpClient;
    use crate::harness::longshored::catalogue::PRICED_MODEL;

    #[tokio::test]
    async fn a_callback_is_counted_once_per_cargo() {
        let options = SinkOptions {
            keeps_bodies: true,
            ..SinkOptions::default()
        };
        let receiver = CallbackSink::start(options).await.unwrap();
        let client = HttpClient::default();
        let callbacks = [
            (1, true, PRICED_MODEL),
            (2, true, "svc-mock"),
            (1, true, PRICED_MODEL),
            (3, false, PRICED_MODEL),
        ];
        for (id, success, model) in callbacks {
            let body = format!(
                r#"{{"cargo_id":"crg_{id:032x}","success":{success},"response":{{"model":"{model}"}}}}"#
            );
            let url = format!("http://{}/hook", receiver.address);
            let request = Request::post(url).body(Full::new(body.into())).unwrap();
            assert_eq!(client.send(request).await.unwrap().status, 200);
        }
        let receipts = &receiver.receipts;
        assert_eq!(
            (receipts.count_cargo(), receipts.count_duplicates()),
            (3, 1)
        );
        assert_eq!(
            (receipts.count_unsuccessful(), receipts.count_malformed()),
            (1, 0)
        );
        assert_eq!(receipts.count_billed(), 1);
        assert_eq!(receipts.find(1).unwrap().count, 2);
        assert!(receipts.find(4).is_none());
        assert_eq!(receipts.bodies().len(), 3);
    }
}
