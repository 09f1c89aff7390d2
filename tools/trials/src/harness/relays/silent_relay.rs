//! A relay that can become silent: connections stay open, and no byte passes.
//!
//! A killed process closes its sockets, and a stopped server refuses connections. A network
//! that drops packets does neither: both sides wait. This relay can also change its
//! destination, to follow a primary.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::harness::Result;
use crate::harness::relays::listener;

const CHUNK_BYTES: usize = 64 * 1024;

/// The direction in which no byte passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceDirection {
    Both,
    ToServer,
    ToClient,
}

impl SilenceDirection {
    /// Each direction in turn.
    pub const fn in_turn(number: usize) -> Self {
        match number % 3 {
            0 => Self::ToClient,
            1 => Self::Both,
            _ => Self::ToServer,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both directions",
            Self::ToServer => "to the server",
            Self::ToClient => "to the client",
        }
    }
}

/// What happens to open connections when a silence ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceEnd {
    /// Held bytes arrive late, as TCP sends them again.
    Resumed,
    /// They stay silent for the client and are closed for the server, as if a firewall had
    /// dropped its state. New connections work.
    Dropped,
}

impl SilenceEnd {
    /// Each in turn.
    pub const fn in_turn(number: usize) -> Self {
        match number % 2 {
            0 => Self::Dropped,
            _ => Self::Resumed,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct SilenceState {
    to: SocketAddr,
    silence: Option<SilenceDirection>,
    /// Connections of an earlier generation are dropped.
    generation: u64,
}

impl SilenceState {
    fn blocks(&self, towards: SilenceDirection) -> bool {
        self.silence
            .is_some_and(|silence| silence == SilenceDirection::Both || silence == towards)
    }
}

/// Relays until it is dropped.
#[derive(Debug)]
pub struct SilentRelay {
    pub address: SocketAddr,
    state: watch::Sender<SilenceState>,
    _serving: JoinSet<()>,
}

impl SilentRelay {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let (state, watched) = watch::channel(SilenceState {
            to,
            silence: None,
            generation: 0,
        });
        let relay = move |client| relay_connection(client, watched.clone());
        let (address, serving) = listener::serve_on_free_port("a silent relay", relay).await?;
        Ok(Self {
            address,
            state,
            _serving: serving,
        })
    }

    /// From now on no byte passes in this direction. New connections are accepted.
    pub fn silence(&self, direction: SilenceDirection) {
        self.state
            .send_modify(|state| state.silence = Some(direction));
    }

    /// Ends the silence.
    pub fn restore(&self, aftermath: SilenceEnd) {
        self.state.send_modify(|state| {
            state.silence = None;
            if aftermath == SilenceEnd::Dropped {
                state.generation += 1;
            }
        });
    }

    /// New connections go to this address.
    pub fn redirect(&self, to: SocketAddr) {
        self.state.send_modify(|state| state.to = to);
    }
}

async fn relay_connection(client: TcpStream, mut state: watch::Receiver<SilenceState>) {
    let began = *state.borrow();
    let Ok(server) = TcpStream::connect(began.to).await else {
        return;
    };
    // The relay must not add latency.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (up, down) = (state.clone(), state.clone());
    let passing = async {
        tokio::join!(
            copy_stream(
                &mut from_client,
                &mut to_server,
                up,
                SilenceDirection::ToServer
            ),
            copy_stream(
                &mut from_server,
                &mut to_client,
                down,
                SilenceDirection::ToClient
            ),
        )
    };
    let is_forgotten = tokio::select! {
        // A dropped connection must not pass the held bytes.
        biased;
        forgotten = state.wait_for(|state| state.generation > began.generation) => forgotten.is_ok(),
        _ = passing => false,
    };
    if is_forgotten {
        drop((from_server, to_server));
        let mut dropped = vec![0; CHUNK_BYTES];
        while matches!(from_client.read(&mut dropped).await, Ok(1..)) {}
    }
}

async fn copy_stream(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut state: watch::Receiver<SilenceState>,
    towards: SilenceDirection,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        // A relay that does not read fills the sender's buffers, like a silent network.
        if state
            .wait_for(|state| !state.blocks(towards))
            .await
            .is_err()
        {
            return;
        }
        let length = from.read(&mut chunk).await.unwrap_or_default();
        // Neither bytes nor the end of a connection pass a silent network.
        if state
            .wait_for(|state| !state.blocks(towards))
            .await
            .is_err()
        {
            return;
        }
        let bytes = chunk.get(..length).unwrap_or_default();
        if bytes.is_empty() || to.write_all(bytes).await.is_err() {
            // The other side may have closed first.
            let _ = to.shutdown().await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (SilentRelay, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        (SilentRelay::start(to).await.unwrap(), listener)
    }

    async fn read_byte(stream: &mut TcpStream) -> u8 {
        stream.read_u8().await.unwrap()
    }

    #[tokio::test]
    async fn held_bytes_arrive_after_the_silence() {
        let (relay, listener) = pair().await;
        let mut client = TcpStream::connect(relay.address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_u8(1).await.unwrap();
        assert_eq!(read_byte(&mut server).await, 1);

        relay.silence(SilenceDirection::ToClient);
        server.write_u8(2).await.unwrap();
        client.write_u8(3).await.unwrap();
        // This direction still passes, so the other byte had enough time.
        assert_eq!(read_byte(&mut server).await, 3);
        assert!(client.read_u8().now_or_never().is_none());
        relay.restore(SilenceEnd::Resumed);
        assert_eq!(read_byte(&mut client).await, 2);
    }

    #[tokio::test]
    async fn a_dropped_connection_ends_only_for_the_server() {
        let (relay, listener) = pair().await;
        let mut client = TcpStream::connect(relay.address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        relay.silence(SilenceDirection::Both);
        client.write_u8(1).await.unwrap();
        relay.restore(SilenceEnd::Dropped);
        assert!(server.read_u8().await.is_err());
        assert!(client.read_u8().now_or_never().is_none());

        let mut second = TcpStream::connect(relay.address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        second.write_u8(2).await.unwrap();
        assert_eq!(read_byte(&mut server).await, 2);
    }

    #[tokio::test]
    async fn new_connections_follow_a_redirect() {
        let (relay, _first) = pair().await;
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        relay.redirect(second.local_addr().unwrap());
        let mut client = TcpStream::connect(relay.address).await.unwrap();
        let (mut server, _) = second.accept().await.unwrap();
        client.write_u8(5).await.unwrap();
        assert_eq!(read_byte(&mut server).await, 5);
    }
}
