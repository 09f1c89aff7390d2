//! A TCP relay that cuts, delays or truncates connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

use crate::harness::Result;
use crate::harness::relays::listener;

const CHUNK_BYTES: usize = 64 * 1024;
/// Delays only this many chunks, so that a large file passes in time.
const MAX_DELAYED_CHUNKS: u32 = 10;

/// How new connections are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayBehaviour {
    Pass,
    /// Cuts every connection at some point, `percent` of them early, and delays as many.
    Flaky {
        percent: u32,
    },
    /// Passes this many bytes of the answer, then closes.
    TruncateAnswer {
        bytes: usize,
    },
}

#[derive(Debug, Default)]
pub struct RelayCounts {
    pub connections: AtomicU64,
    pub cut: AtomicU64,
    pub slowed: AtomicU64,
}

/// Relays until it is dropped.
#[derive(Debug)]
pub struct FaultyRelay {
    pub address: SocketAddr,
    pub counts: Arc<RelayCounts>,
    behaviour: Arc<Mutex<RelayBehaviour>>,
    _serving: JoinSet<()>,
}

impl FaultyRelay {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let behaviour = Arc::new(Mutex::new(RelayBehaviour::Pass));
        let counts = Arc::new(RelayCounts::default());
        let (current, done) = (Arc::clone(&behaviour), Arc::clone(&counts));
        let relay = move |stream| {
            done.connections.fetch_add(1, Ordering::Relaxed);
            let faults = ConnectionFaults::for_behaviour(*current.lock());
            relay_connection(stream, to, faults, Arc::clone(&done))
        };
        let (address, serving) = listener::serve_on_free_port("a faulty relay", relay).await?;
        Ok(Self {
            address,
            counts,
            behaviour,
            _serving: serving,
        })
    }

    /// Applies to connections that begin from now on.
    pub fn set_behaviour(&self, behaviour: RelayBehaviour) {
        *self.behaviour.lock() = behaviour;
    }
}

/// The faults of one connection.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionFaults {
    /// Bytes of the request, and of the answer, before the cut.
    cut_request_after: Option<usize>,
    cut_answer_after: Option<usize>,
    /// Before each of the first chunks.
    delay: Option<Duration>,
}

impl ConnectionFaults {
    fn for_behaviour(behaviour: RelayBehaviour) -> Self {
        match behaviour {
            RelayBehaviour::Pass => Self::default(),
            RelayBehaviour::TruncateAnswer { bytes } => Self {
                cut_answer_after: Some(bytes),
                ..Self::default()
            },
            RelayBehaviour::Flaky { percent } => Self::flaky(percent),
        }
    }

    fn flaky(percent: u32) -> Self {
        let happens = || rand::random_range(0..100) < percent;
        // A keep-alive connection carries many exchanges: if it were never cut, none of them
        // would fail.
        let bits = if happens() {
            rand::random_range(0..9)
        } else {
            rand::random_range(10..26)
        };
        let place = rand::random_range(0..1usize << bits);
        let (cut_sent, cut_answer) = if rand::random() {
            (Some(place), None)
        } else {
            (None, Some(place))
        };
        let delay = happens().then(|| Duration::from_millis(rand::random_range(1..150)));
        Self {
            cut_request_after: cut_sent,
            cut_answer_after: cut_answer,
            delay,
        }
    }
}

async fn relay_connection(
    stream: TcpStream,
    to: SocketAddr,
    fate: ConnectionFaults,
    done: Arc<RelayCounts>,
) {
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let _ = stream.set_nodelay(true);
    let _ = server.set_nodelay(true);
    if fate.delay.is_some() {
        done.slowed.fetch_add(1, Ordering::Relaxed);
    }
    let (from_client, to_client) = stream.into_split();
    let (from_server, to_server) = server.into_split();
    let sent = copy_stream(from_client, to_server, fate.cut_request_after, fate.delay);
    let answered = copy_stream(from_server, to_client, fate.cut_answer_after, fate.delay);
    let (mut sent, mut answered) = (std::pin::pin!(sent), std::pin::pin!(answered));
    // A cut in one direction ends both; a normal end in one direction leaves the other open.
    let cut = tokio::select! {
        end = &mut sent => end == StreamEnd::Cut || answered.await == StreamEnd::Cut,
        end = &mut answered => end == StreamEnd::Cut || sent.await == StreamEnd::Cut,
    };
    if cut {
        done.cut.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    Closed,
    Cut,
}

async fn copy_stream(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    cut: Option<usize>,
    delay: Option<Duration>,
) -> StreamEnd {
    let mut left = cut.unwrap_or(usize::MAX);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut chunks = 0;
    loop {
        let Ok(length @ 1..) = from.read(&mut chunk).await else {
            let _ = to.shutdown().await;
            return StreamEnd::Closed;
        };
        chunks += 1;
        if let Some(delay) = delay.filter(|_| chunks <= MAX_DELAYED_CHUNKS) {
            tokio::time::sleep(delay).await;
        }
        let passed = length.min(left);
        let bytes = chunk.get(..passed).unwrap_or_default();
        if to.write_all(bytes).await.is_err() {
            return StreamEnd::Closed;
        }
        left -= passed;
        if passed < length || left == 0 {
            return StreamEnd::Cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn exchange(relay: &FaultyRelay) -> Vec<u8> {
        let mut stream = TcpStream::connect(relay.address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // A cut may appear as a reset.
        let _ = stream.read_to_end(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn a_relay_passes_everything_or_half() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = FaultyRelay::start(listener.local_addr().unwrap())
            .await
            .unwrap();
        let mut echoing = JoinSet::new();
        echoing.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut heard = Vec::new();
                stream.read_to_end(&mut heard).await.unwrap();
                stream.write_all(&heard).await.unwrap();
            }
        });
        assert_eq!(exchange(&relay).await, b"hello");
        relay.set_behaviour(RelayBehaviour::TruncateAnswer { bytes: 2 });
        assert_eq!(exchange(&relay).await, b"he");
        assert_eq!(relay.counts.cut.load(Ordering::Relaxed), 1);
        assert_eq!(relay.counts.connections.load(Ordering::Relaxed), 2);
    }
}
