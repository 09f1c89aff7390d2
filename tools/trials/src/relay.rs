//! A relay between the service and one of its servers: it passes bytes on, or does worse.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::failure::{During as _, Result};
use crate::port;

const CHUNK: usize = 64 * 1024;
/// So many chunks of a slow connection are held back: a large file must pass some day.
const SLOW_CHUNKS: u32 = 10;

/// What becomes of a connection; each asks when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Pass,
    /// Every connection is cut somewhere, so many of a hundred at once, and as many are slow.
    Unsteady {
        percent: u32,
    },
    /// So many bytes of the answer, then the end.
    Half {
        bytes: usize,
    },
}

/// What was done to how many connections.
#[derive(Debug, Default)]
pub struct Done {
    pub connections: AtomicU64,
    pub cut: AtomicU64,
    pub slowed: AtomicU64,
}

/// Passes on until it is dropped.
#[derive(Debug)]
pub struct Relay {
    pub address: SocketAddr,
    pub done: Arc<Done>,
    behaviour: Arc<Mutex<Behaviour>>,
    _serving: JoinSet<()>,
}

impl Relay {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let address = port::free()?;
        let listener = TcpListener::bind(address)
            .await
            .during("starting a relay")?;
        let behaviour = Arc::new(Mutex::new(Behaviour::Pass));
        let done = Arc::new(Done::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(
            listener,
            to,
            Arc::clone(&behaviour),
            Arc::clone(&done),
        ));
        Ok(Self {
            address,
            done,
            behaviour,
            _serving: serving,
        })
    }

    /// For connections that begin from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *self
            .behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = behaviour;
    }
}

async fn serve(
    listener: TcpListener,
    to: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    done: Arc<Done>,
) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        done.connections.fetch_add(1, Ordering::Relaxed);
        let behaviour = *behaviour.lock().unwrap_or_else(PoisonError::into_inner);
        connections.spawn(relay(stream, to, Fate::of(behaviour), Arc::clone(&done)));
    }
}

/// What will happen to one connection.
#[derive(Debug, Clone, Copy, Default)]
struct Fate {
    /// After so many bytes of what we are sent, and of the answer.
    cut_sent: Option<usize>,
    cut_answer: Option<usize>,
    /// Before each of the first chunks.
    delay: Option<Duration>,
}

impl Fate {
    fn of(behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Pass => Self::default(),
            Behaviour::Half { bytes } => Self {
                cut_answer: Some(bytes),
                ..Self::default()
            },
            Behaviour::Unsteady { percent } => Self::unsteady(percent),
        }
    }

    fn unsteady(percent: u32) -> Self {
        let happens = || rand::random_range(0..100) < percent;
        // A connection is kept for many exchanges: one that is never cut would carry them all.
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
            cut_sent,
            cut_answer,
            delay,
        }
    }
}

async fn relay(stream: TcpStream, to: SocketAddr, fate: Fate, done: Arc<Done>) {
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
    let sent = pass(from_client, to_server, fate.cut_sent, fate.delay);
    let answered = pass(from_server, to_client, fate.cut_answer, fate.delay);
    let (mut sent, mut answered) = (std::pin::pin!(sent), std::pin::pin!(answered));
    // Cut in one direction is cut in both; an ordinary end in one leaves the other.
    let cut = tokio::select! {
        end = &mut sent => end == End::Cut || answered.await == End::Cut,
        end = &mut answered => end == End::Cut || sent.await == End::Cut,
    };
    if cut {
        done.cut.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Ordinary,
    Cut,
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    cut: Option<usize>,
    delay: Option<Duration>,
) -> End {
    let mut left = cut.unwrap_or(usize::MAX);
    let mut chunk = vec![0; CHUNK];
    let mut chunks = 0;
    loop {
        let Ok(length @ 1..) = from.read(&mut chunk).await else {
            let _ = to.shutdown().await;
            return End::Ordinary;
        };
        chunks += 1;
        if let Some(delay) = delay.filter(|_| chunks <= SLOW_CHUNKS) {
            tokio::time::sleep(delay).await;
        }
        let passed = length.min(left);
        let bytes = chunk.get(..passed).unwrap_or_default();
        if to.write_all(bytes).await.is_err() {
            return End::Ordinary;
        }
        left -= passed;
        if passed < length || left == 0 {
            return End::Cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn said(relay: &Relay) -> Vec<u8> {
        let mut stream = TcpStream::connect(relay.address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // A cut may come as a reset.
        let _ = stream.read_to_end(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn a_relay_passes_everything_or_half() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = Relay::start(listener.local_addr().unwrap()).await.unwrap();
        let mut echoing = JoinSet::new();
        echoing.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut heard = Vec::new();
                stream.read_to_end(&mut heard).await.unwrap();
                stream.write_all(&heard).await.unwrap();
            }
        });
        assert_eq!(said(&relay).await, b"hello");
        relay.behave(Behaviour::Half { bytes: 2 });
        assert_eq!(said(&relay).await, b"he");
        assert_eq!(relay.done.cut.load(Ordering::Relaxed), 1);
        assert_eq!(relay.done.connections.load(Ordering::Relaxed), 2);
    }
}
