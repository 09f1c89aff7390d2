//! A relay that adds latency and limits bandwidth.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::harness::Result;
use crate::harness::relays::listener;

/// Small, so that connections share the bandwidth evenly.
const CHUNK_BYTES: usize = 8 * 1024;
/// Chunks of one connection that may be in flight.
const MAX_CHUNKS_IN_FLIGHT: usize = 1024;

/// Relays until it is dropped.
#[derive(Debug)]
pub struct SlowRelay {
    pub address: SocketAddr,
    link: Arc<SlowLink>,
    _serving: JoinSet<()>,
}

/// What all connections share.
#[derive(Debug)]
struct SlowLink {
    /// Added to every answer.
    delay_milliseconds: AtomicU64,
    /// The bandwidth towards the server.
    bytes_per_second: Option<u64>,
    /// When all bytes that were accepted so far have passed.
    free_at: Mutex<Instant>,
}

impl SlowLink {
    /// Queues `length` bytes; returns when they have passed.
    fn reserve(&self, length: usize) -> Instant {
        let now = Instant::now();
        let Some(bytes_per_second) = self.bytes_per_second.filter(|bytes| *bytes > 0) else {
            return now;
        };
        let nanoseconds = u64::try_from(length).unwrap_or(u64::MAX) * 1_000_000_000;
        let takes = Duration::from_nanos(nanoseconds / bytes_per_second);
        let mut free_at = self.free_at.lock();
        *free_at = (*free_at).max(now) + takes;
        *free_at
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_milliseconds.load(Ordering::Relaxed))
    }
}

impl SlowRelay {
    /// Starts without a delay.
    pub async fn start(server: SocketAddr, bytes_per_second: Option<u64>) -> Result<Self> {
        let link = Arc::new(SlowLink {
            delay_milliseconds: AtomicU64::new(0),
            bytes_per_second,
            free_at: Mutex::new(Instant::now()),
        });
        let shared = Arc::clone(&link);
        let relay = move |client| relay_connection(client, server, Arc::clone(&shared));
        let (address, serving) = listener::serve_on_free_port("a slow relay", relay).await?;
        Ok(Self {
            address,
            link,
            _serving: serving,
        })
    }

    /// Adds this to every round trip, also on open connections.
    pub fn set_delay(&self, delay: Duration) {
        let milliseconds = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.link
            .delay_milliseconds
            .store(milliseconds, Ordering::Relaxed);
    }
}

async fn relay_connection(client: TcpStream, server: SocketAddr, link: Arc<SlowLink>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (under_way, arriving) = mpsc::channel(MAX_CHUNKS_IN_FLIGHT);
    let answers = async {
        tokio::join!(
            delay_answers(from_server, under_way, &link),
            forward_when_due(arriving, to_client),
        );
    };
    // If either side closes, all three end; bytes in flight are lost.
    tokio::select! {
        () = throttle(from_client, to_server, &link) => {}
        () = answers => {}
    }
}

async fn throttle(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, link: &SlowLink) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        tokio::time::sleep_until(link.reserve(length)).await;
        let bytes = chunk.get(..length).unwrap_or_default();
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

async fn delay_answers(
    mut from: OwnedReadHalf,
    under_way: mpsc::Sender<(Instant, Vec<u8>)>,
    link: &SlowLink,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        let due = Instant::now() + link.delay();
        let bytes = chunk.get(..length).unwrap_or_default().to_vec();
        if under_way.send((due, bytes)).await.is_err() {
            return;
        }
    }
}

async fn forward_when_due(
    mut arriving: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut to: OwnedWriteHalf,
) {
    while let Some((due, bytes)) = arriving.recv().await {
        tokio::time::sleep_until(due).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn answers_come_later_and_bytes_pass_one_after_the_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let relay = SlowRelay::start(server, Some(100_000)).await.unwrap();
        relay.set_delay(Duration::from_millis(50));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = [0; 10_000];
            stream.read_exact(&mut heard).await.unwrap();
            stream.write_all(b"heard").await.unwrap();
        });
        let begun = Instant::now();
        let mut stream = TcpStream::connect(relay.address).await.unwrap();
        stream.write_all(&[7; 10_000]).await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"heard");
        // 100 ms for the bytes, 50 ms for the latency.
        assert!(begun.elapsed() >= Duration::from_millis(150));
    }
}
