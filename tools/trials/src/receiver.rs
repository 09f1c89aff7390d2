//! The callers' side of a callback: a server that answers 200 and counts.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
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

use crate::catalogue::PRICED;
use crate::connection::{cargo_id, find};
use crate::failure::{During as _, Result};

/// So many locks that two callbacks seldom want the same.
const DRAWERS: usize = 64;
/// How the answer of a priced model names it; the names of all of them begin alike.
static PRICED_MODEL: LazyLock<String> = LazyLock::new(|| format!(r#""model":"{PRICED}"#));

/// One cargo's callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub count: u32,
    /// It succeeded, and for a model that costs money.
    pub is_billed: bool,
    pub first: Instant,
    pub last: Instant,
}

#[derive(Debug)]
pub struct Receipts {
    drawers: Vec<Mutex<HashMap<u128, Receipt, BuildHasherDefault<Random>>>>,
    cargo: AtomicU64,
    billed: AtomicU64,
    callbacks: AtomicU64,
    unsuccessful: AtomicU64,
    illegible: AtomicU64,
}

/// The last bits of an id are random already.
#[derive(Debug, Default)]
pub struct Random(u64);

impl Hasher for Random {
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

impl Default for Receipts {
    fn default() -> Self {
        Self {
            drawers: (0..DRAWERS).map(|_| Mutex::default()).collect(),
            cargo: AtomicU64::new(0),
            billed: AtomicU64::new(0),
            callbacks: AtomicU64::new(0),
            unsuccessful: AtomicU64::new(0),
            illegible: AtomicU64::new(0),
        }
    }
}

impl Receipts {
    fn drawer(
        &self,
        cargo: u128,
    ) -> Option<MutexGuard<'_, HashMap<u128, Receipt, BuildHasherDefault<Random>>>> {
        let place = usize::try_from(cargo >> 6 & 0x3f).unwrap_or_default();
        let drawer = self.drawers.get(place)?;
        Some(drawer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a callback; says of which cargo it is, and its how many-th.
    fn take(&self, body: &[u8]) -> Option<(u128, u32)> {
        let Some(cargo) = cargo_id(body) else {
            self.illegible.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        let is_success = find(body, b"\"success\":true").is_some();
        if !is_success {
            self.unsuccessful.fetch_add(1, Ordering::Relaxed);
        }
        let is_billed = is_success && find(body, PRICED_MODEL.as_bytes()).is_some();
        let now = Instant::now();
        let mut drawer = self.drawer(cargo)?;
        let receipt = drawer.entry(cargo).or_insert(Receipt {
            count: 0,
            is_billed: false,
            first: now,
            last: now,
        });
        receipt.count += 1;
        receipt.last = now;
        if receipt.count == 1 {
            self.cargo.fetch_add(1, Ordering::Relaxed);
        }
        if is_billed && !receipt.is_billed {
            receipt.is_billed = true;
            self.billed.fetch_add(1, Ordering::Relaxed);
        }
        Some((cargo, receipt.count))
    }

    pub fn find(&self, cargo: u128) -> Option<Receipt> {
        self.drawer(cargo)?.get(&cargo).copied()
    }

    /// How many different cargo have come.
    pub fn cargo(&self) -> u64 {
        self.cargo.load(Ordering::Relaxed)
    }

    /// How many different cargo have come that succeeded and cost money.
    pub fn billed(&self) -> u64 {
        self.billed.load(Ordering::Relaxed)
    }

    /// How many callbacks came beyond the first of their cargo.
    pub fn duplicates(&self) -> u64 {
        self.callbacks
            .load(Ordering::Relaxed)
            .saturating_sub(self.cargo())
    }

    /// How many callbacks brought a failed outcome.
    pub fn unsuccessful(&self) -> u64 {
        self.unsuccessful.load(Ordering::Relaxed)
    }

    /// How many were no callback of the contract's form.
    pub fn illegible(&self) -> u64 {
        self.illegible.load(Ordering::Relaxed)
    }
}

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Receiver {
    pub receipts: Arc<Receipts>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Receiver {
    /// Answers each callback after `delay`.
    pub async fn start(delay: Duration) -> Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, delay, None).await
    }

    /// The same, but of so many cargo one has its first callback refused.
    pub async fn start_refusing(delay: Duration, one_of: Option<u128>) -> Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, delay, one_of).await
    }

    /// The same under every loopback address, so that each organization can have its own.
    pub async fn everywhere(delay: Duration) -> Result<Self> {
        Self::listen(Ipv4Addr::UNSPECIFIED, delay, None).await
    }

    async fn listen(on: Ipv4Addr, delay: Duration, one_of: Option<u128>) -> Result<Self> {
        let listener = TcpListener::bind((on, 0)).await;
        let listener = listener.during("listening for callbacks")?;
        let address = listener.local_addr().during("listening for callbacks")?;
        let receipts = Arc::new(Receipts::default());
        let mut serving = JoinSet::new();
        let manner = Manner { delay, one_of };
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

    /// For a receiver that listens everywhere.
    pub fn url_at(&self, address: Ipv4Addr) -> String {
        format!("http://{address}:{}/hook", self.address.port())
    }
}

/// How callbacks are answered.
#[derive(Debug, Clone, Copy)]
struct Manner {
    delay: Duration,
    /// Of so many cargo one has its first callback refused.
    one_of: Option<u128>,
}

impl Manner {
    fn refuses(self, cargo: u128, count: u32) -> bool {
        count == 1 && self.one_of.is_some_and(|one_of| is_one_of(cargo, one_of))
    }
}

/// Whether this is the one of so many cargo whose first callback is refused.
pub const fn is_one_of(cargo: u128, one_of: u128) -> bool {
    cargo.is_multiple_of(one_of)
}

async fn serve(listener: TcpListener, receipts: Arc<Receipts>, manner: Manner) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let receipts = Arc::clone(&receipts);
        // A callback is small and its sender waits: nothing is gained by holding bytes back.
        let _ = stream.set_nodelay(true);
        connections.spawn(async move {
            let answer = service_fn(|request| answer(request, &receipts, manner));
            // The sender may hang up whenever it likes.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    receipts: &Receipts,
    manner: Manner,
) -> std::result::Result<Response<Empty<Bytes>>, Infallible> {
    let mut response = Response::new(Empty::new());
    match request.into_body().collect().await {
        Ok(body) => {
            let taken = receipts.take(&body.to_bytes());
            if taken.is_some_and(|(cargo, count)| manner.refuses(cargo, count)) {
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
    use crate::http::Target;

    #[tokio::test]
    async fn a_callback_is_counted_once_per_cargo() {
        let receiver = Receiver::start(Duration::ZERO).await.unwrap();
        let target = Target::new(receiver.address);
        let told = [
            (1, true, PRICED),
            (2, true, "svc-mock"),
            (1, true, PRICED),
            (3, false, PRICED),
        ];
        for (id, success, model) in told {
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
        assert_eq!((receipts.cargo(), receipts.duplicates()), (3, 1));
        assert_eq!((receipts.unsuccessful(), receipts.illegible()), (1, 0));
        assert_eq!(receipts.billed(), 1);
        assert_eq!(receipts.find(1).unwrap().count, 2);
        assert!(receipts.find(4).is_none());
    }
}
