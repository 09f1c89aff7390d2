//! A relay that keeps every byte that passes, in both directions.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

use crate::harness::failure::Result;
use crate::harness::relays::listener;

const CHUNK_BYTES: usize = 64 * 1024;

/// The bytes of one connection in one direction.
type CapturedStream = Arc<Mutex<Vec<u8>>>;

/// Relays until it is dropped.
#[derive(Debug)]
pub struct CapturingRelay {
    pub address: SocketAddr,
    streams: Arc<Mutex<Vec<CapturedStream>>>,
    _serving: JoinSet<()>,
}

impl CapturingRelay {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let streams = Arc::<Mutex<Vec<CapturedStream>>>::default();
        let kept = Arc::clone(&streams);
        let relay = move |client| {
            let both = [CapturedStream::default(), CapturedStream::default()];
            kept.lock().extend_from_slice(&both);
            relay_connection(client, to, both)
        };
        let (address, serving) = listener::serve_on_free_port("a capturing relay", relay).await?;
        Ok(Self {
            address,
            streams,
            _serving: serving,
        })
    }

    /// What has passed so far: for each connection the bytes to the server, then those to the
    /// client.
    pub fn streams(&self) -> Vec<Vec<u8>> {
        let streams = self.streams.lock().clone();
        streams.iter().map(|stream| stream.lock().clone()).collect()
    }
}

async fn relay_connection(client: TcpStream, to: SocketAddr, streams: [CapturedStream; 2]) {
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let [sent, answered] = streams;
    tokio::join!(
        copy_stream(from_client, to_server, &sent),
        copy_stream(from_server, to_client, &answered),
    );
}

async fn copy_stream(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, captured: &Mutex<Vec<u8>>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        let bytes = chunk.get(..length).unwrap_or_default();
        captured.lock().extend_from_slice(bytes);
        if to.write_all(bytes).await.is_err() {
            break;
        }
    }
    // The other side may have closed first.
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn both_directions_are_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = CapturingRelay::start(listener.local_addr().unwrap())
            .await
            .unwrap();
        let mut client = TcpStream::connect(relay.address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_u8(1).await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), 1);
        server.write_u8(2).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
        assert_eq!(relay.streams(), [vec![1_u8], vec![2]]);
    }
}
