//! A reverse proxy that forwards each connection, with the client's address in `X-Forwarded-For`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

use crate::harness::Result;
use crate::harness::relays::listener;
use crate::harness::relays::narrow_socket;

/// The address that it connects from: the one for the service to trust.
pub const PROXY_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 80, 1);
/// Small, because thousands of connections are open.
const CHUNK_BYTES: usize = 2048;

/// Forwards until it is dropped.
#[derive(Debug)]
pub struct ForwardingProxy {
    pub address: SocketAddr,
    _serving: JoinSet<()>,
}

impl ForwardingProxy {
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let forward = move |client| async move {
            // Either side may close the connection at any time.
            let _ = forward_connection(client, to).await;
        };
        let (address, serving) = listener::serve_on_free_port("a proxy", forward).await?;
        Ok(Self {
            address,
            _serving: serving,
        })
    }
}

async fn forward_connection(client: TcpStream, to: SocketAddr) -> io::Result<()> {
    let address = forwarded_address(client.peer_addr()?.ip());
    let header = format!("x-forwarded-for: {address}\r\n");
    client.set_nodelay(true)?;
    // It buffers little, so that the service notices clients that do not read.
    let server = narrow_socket::new_narrow_socket(PROXY_ADDRESS)?;
    let server = server.connect(to).await?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        ended = forward_requests(from_client, to_server, header.as_bytes()) => ended,
        ended = forward_responses(from_server, to_client) => ended,
    }
}

/// Loopback addresses have no limits. So the proxy reports a private address with the same last
/// three parts.
fn forwarded_address(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(address) => {
            let [_, second, third, fourth] = address.octets();
            Ipv4Addr::new(10, second, third, fourth).into()
        }
        IpAddr::V6(_) => client,
    }
}

/// Adds the header after the first request line. Further requests of the connection are passed
/// unchanged, and count for the proxy.
async fn forward_requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    header: &[u8],
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut is_first_line = true;
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        let bytes = chunk.get(..length).unwrap_or_default();
        let line_end = bytes.iter().position(|byte| *byte == b'\n');
        if let Some(end) = line_end.filter(|_| is_first_line) {
            is_first_line = false;
            let (line, rest) = bytes.split_at(end + 1);
            to.write_all(&[line, header, rest].concat()).await?;
        } else {
            to.write_all(bytes).await?;
        }
    }
}

async fn forward_responses(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(chunk.get(..length).unwrap_or_default())
            .await?;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_address_of_the_client_follows_the_request_line() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = ForwardingProxy::start(address).await.unwrap();
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        client.write_all(b"GET / HT").await.unwrap();
        let (mut server, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.ip(), PROXY_ADDRESS);
        client
            .write_all(b"TP/1.1\r\nhost: here\r\n\r\n")
            .await
            .unwrap();
        let expected = b"GET / HTTP/1.1\r\nx-forwarded-for: 10.0.0.1\r\nhost: here\r\n\r\n";
        let mut received = vec![0; expected.len()];
        server.read_exact(&mut received).await.unwrap();
        assert_eq!(received, expected);
        server.write_all(b"answer").await.unwrap();
        drop(server);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
    }
}
