//! Sockets that receive little before the sender has to wait, like those of a distant client.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::SockRef;
use tokio::net::TcpSocket;

const RECEIVE_BUFFER_BYTES: u32 = 4096;
/// The sender's buffer follows the size of a segment. With the segments of loopback, Linux would
/// keep 2.6 MB for each connection that is not read, and no write of the service would block.
const SEGMENT_BYTES: u32 = 536;

/// A socket that connects from this address.
pub fn new_narrow_socket(from: Ipv4Addr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_nodelay(true)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    SockRef::from(&socket).set_tcp_mss(SEGMENT_BYTES)?;
    socket.bind(SocketAddr::from((from, 0)))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_sender_waits_for_a_reader() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = new_narrow_socket(Ipv4Addr::new(127, 0, 81, 1)).unwrap();
        let address = listener.local_addr().unwrap();
        let (connected, accepted) = tokio::join!(socket.connect(address), listener.accept());
        let (sender, from) = accepted.unwrap();
        assert_eq!(from.ip(), Ipv4Addr::new(127, 0, 81, 1));
        sender.writable().await.unwrap();
        let mut sent = 0;
        while let Ok(length) = sender.try_write(&[0; 4096]) {
            sent += length;
        }
        assert!((1..256 << 10).contains(&sent), "{sent}");
        drop(connected);
    }
}
