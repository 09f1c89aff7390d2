//! Servers that hang, drip or refuse, on every loopback address.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::harness::relays::listener;
use crate::harness::{FailureContext as _, Result};

const LISTEN_BACKLOG: u32 = 4096;
const DRIP_INTERVAL: Duration = Duration::from_secs(1);
/// The beginning of a response that never ends.
const RESPONSE_BEGINNING: &[u8] = b"HTTP/1.1 200 OK\r\nx-drip: ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFault {
    /// Accepts, reads, and never answers.
    Hang,
    /// Answers one byte a second, forever.
    Drip,
    /// Its port is closed.
    Refuse,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct FaultyServer {
    port: u16,
    /// A port that is bound but not listened on refuses, and no other process can take it.
    _closed: Option<TcpSocket>,
    _serving: JoinSet<()>,
}

impl FaultyServer {
    pub fn start(symptom: ServerFault) -> Result<Self> {
        let starting = "starting a faulty server";
        let socket = TcpSocket::new_v4().context(starting)?;
        let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        socket.bind(anywhere).context(starting)?;
        let port = socket.local_addr().context(starting)?.port();
        let mut serving = JoinSet::new();
        let mut closed = None;
        if symptom == ServerFault::Refuse {
            closed = Some(socket);
        } else {
            let listener = socket.listen(LISTEN_BACKLOG).context(starting)?;
            serving = listener::serve_connections(listener, move |it| hold_connection(it, symptom));
        }
        Ok(Self {
            port,
            _closed: closed,
            _serving: serving,
        })
    }

    pub fn at(&self, address: Ipv4Addr) -> SocketAddr {
        SocketAddr::from((address, self.port))
    }
}

async fn hold_connection(stream: TcpStream, symptom: ServerFault) {
    let (mut reading, mut writing) = stream.into_split();
    let read = async {
        let mut buffer = [0; 4096];
        while matches!(reading.read(&mut buffer).await, Ok(length) if length > 0) {}
    };
    let write = async {
        if symptom == ServerFault::Drip {
            let endless = RESPONSE_BEGINNING.iter().chain(std::iter::repeat(&b'z'));
            for byte in endless {
                tokio::time::sleep(DRIP_INTERVAL).await;
                if writing.write_all(&[*byte]).await.is_err() {
                    return;
                }
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_refusing_server_keeps_its_port_closed_and_a_hanging_one_accepts() {
        let refusing = FaultyServer::start(ServerFault::Refuse).unwrap();
        let address = refusing.at(Ipv4Addr::new(127, 0, 3, 4));
        assert!(TcpStream::connect(address).await.is_err());
        let hanging = FaultyServer::start(ServerFault::Hang).unwrap();
        let address = hanging.at(Ipv4Addr::new(127, 0, 3, 4));
        assert!(TcpStream::connect(address).await.is_ok());
    }
}
