//! A callback sink: a server that answers 200 and counts callbacks.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::http::keep_alive::{find_bytes, find_cargo_id};
use crate::harness::lock::lock;
use crate::harness::longshored::catalogue::PRICED_MODEL;

/// So many locks that two callbacks rarely need the same one.
const RECEIPT_SHARDS: usize = 64;
/// The model field of a priced model's callback; the names of all of them share a prefix.
static PRICED_MODEL_FIELD: LazyLock<String> =
    LazyLock::new(|| format!(r#""model":"{PRICED_MODEL}"#));

/// The callbacks of one cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallbackReceipt {
    pub count: u32,
    /// A success of a priced model.
    pub is_billed: bool,
    pub first_at: Instant,
    pub last_at: Instant,
}

#[derive(Debug)]
pub struct CallbackReceipts {
    shards: Vec<Mutex<HashMap<u128, CallbackReceipt, BuildHasherDefault<LowBitsHasher>>>>,
    cargo: AtomicU64,
    billed: AtomicU64,
    callbacks: AtomicU64,
    unsuccessful: AtomicU64,
    malformed: AtomicU64,
}

/// Uses the low bits of an id, which are random already.
#[derive(Debug, Default)]
pub struct LowBitsHasher(u64);

impl Hasher for LowBitsHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, id: u128) {
        self.0 = u64::try_from(id & u128::from(u64::MAX)).unwrap_or_default();
    }
}

impl Default for CallbackReceipts {
    fn default() -> Self {
        Self {
            shards: (0..RECEIPT_SHARDS).map(|_| Mutex::default()).collect(),
            cargo: AtomicU64::new(0),
            billed: AtomicU64::new(0),
            callbacks: AtomicU64::new(0),
            unsuccessful: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }
}

impl CallbackReceipts {
    fn lock_shard(
        &self,
        cargo: u128,
    ) -> Option<MutexGuard<'_, HashMap<u128, CallbackReceipt, BuildHasherDefault<LowBitsHasher>>>>
    {
        let place = usize::try_from(cargo >> 6 & 0x3f).unwrap_or_default();
        let drawer = self.shards.get(place)?;
        Some(lock(drawer))
    }

    /// Records a callback; returns its cargo and how many callbacks that cargo has had.
    fn record_callback(&self, body: &[u8]) -> Option<(u128, u32)> {
        let Some(cargo) = find_cargo_id(body) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        let is_success = find_bytes(body, b"\"success\":true").is_some();
        if !is_success {
            self.unsuccessful.fetch_add(1, Ordering::Relaxed);
        }
        let is_billed = is_success && find_bytes(body, PRICED_MODEL_FIELD.as_bytes()).is_some();
        let now = Instant::now();
        let mut drawer = self.lock_shard(cargo)?;
        let receipt = drawer.entry(cargo).or_insert(CallbackReceipt {
            count: 0,
            is_billed: false,
            first_at: now,
            last_at: now,
        });
        receipt.count += 1;
        receipt.last_at = now;
        if receipt.count == 1 {
            self.cargo.fetch_add(1, Ordering::Relaxed);
        }
        if is_billed && !receipt.is_billed {
            receipt.is_billed = true;
            self.billed.fetch_add(1, Ordering::Relaxed);
        }
        Some((cargo, receipt.count))
    }

    pub fn find(&self, cargo: u128) -> Option<CallbackReceipt> {
        self.lock_shard(cargo)?.get(&cargo).copied()
    }

    /// The number of different cargo with a callback.
    pub fn count_cargo(&self) -> u64 {
        self.cargo.load(Ordering::Relaxed)
    }

    /// The number of different priced cargo with a successful callback.
    pub fn count_billed(&self) -> u64 {
        self.billed.load(Ordering::Relaxed)
    }

    /// Callbacks beyond the first of their cargo.
    pub fn count_duplicates(&self) -> u64 {
        self.callbacks
            .load(Ordering::Relaxed)
            .saturating_sub(self.count_cargo())
    }

    /// Callbacks with a failed outcome.
    pub fn count_unsuccessful(&self) -> u64 {
        self.unsuccessful.load(Ordering::Relaxed)
    }

    /// Requests that do not have the contract's form of a callback.
    pub fn count_malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
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
    /// Answers each callback after `delay`.
    pub async fn start(delay: Duration) -> Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, delay, None).await
    }

    /// The same, but refuses the first callback of one of `one_of` cargo.
    pub async fn start_refusing(delay: Duration, one_of: Option<u128>) -> Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, delay, one_of).await
    }

    /// The same on every loopback address, so that each organization can have its own.
    pub async fn start_on_all_addresses(delay: Duration) -> Result<Self> {
        Self::listen(Ipv4Addr::UNSPECIFIED, delay, None).await
    }

    async fn listen(on: Ipv4Addr, delay: Duration, one_of: Option<u128>) -> Result<Self> {
        let listener = TcpListener::bind((on, 0)).await;
        let listener = listener.context("listening for callbacks")?;
        let address = listener.local_addr().context("listening for callbacks")?;
        let receipts = Arc::new(CallbackReceipts::default());
        let mut serving = JoinSet::new();
        let manner = SinkResponseRule {
            delay,
            refuse_first_one_of: one_of,
        };
        serving.spawn(serve(listener, Arc::clone(&receipts), manner));
        Ok(Self {
            receipts,
            address,
            _serving: serving,
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

/// How callbacks are answered.
#[derive(Debug, Clone, Copy)]
struct SinkResponseRule {
    delay: Duration,
    /// One of this many cargo has its first callback refused.
    refuse_first_one_of: Option<u128>,
}

impl SinkResponseRule {
    fn should_refuse(self, cargo: u128, count: u32) -> bool {
        count == 1
            && self
                .refuse_first_one_of
                .is_some_and(|one_of| is_refused_first(cargo, one_of))
    }
}

/// Whether the first callback of this cargo is refused.
pub const fn is_refused_first(cargo: u128, one_of: u128) -> bool {
    cargo.is_multiple_of(one_of)
}

async fn serve(listener: TcpListener, receipts: Arc<CallbackReceipts>, manner: SinkResponseRule) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let receipts = Arc::clone(&receipts);
        // A callback is small and its sender waits: sends the response without delay.
        let _ = stream.set_nodelay(true);
        connections.spawn(async move {
            let answer = service_fn(|request| respond(request, &receipts, manner));
            // The service may close the connection at any time.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    receipts: &CallbackReceipts,
    manner: SinkResponseRule,
) -> std::result::Result<Response<Empty<Bytes>>, Infallible> {
    let mut response = Response::new(Empty::new());
    match request.into_body().collect().await {
        Ok(body) => {
            let taken = receipts.record_callback(&body.to_bytes());
            if taken.is_some_and(|(cargo, count)| manner.should_refuse(cargo, count)) {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
        }
        Err(_) => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    if !manner.delay.is_zero() {
        tokio::time::sleep(manner.delay).await;
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::http::service_client::ServiceClient;

    #[tokio::test]
    async fn a_callback_is_counted_once_per_cargo() {
        let receiver = CallbackSink::start(Duration::ZERO).await.unwrap();
        let target = ServiceClient::new(receiver.address);
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
            let request = format!(
                "POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(target.send(request.as_bytes()).await.unwrap().status, 200);
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
    }
}
