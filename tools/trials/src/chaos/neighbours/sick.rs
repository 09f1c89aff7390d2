//! Servers that hang, drip or refuse, under every loopback address.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::failure::{During as _, Result};

const BACKLOG: u32 = 4096;
const DRIP_INTERVAL: Duration = Duration::from_secs(1);
/// The beginning of an answer that never comes to its end.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nx-drip: ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// Accepts, reads, and never answers.
    Hang,
    /// Answers one byte a second, without end.
    Drip,
    /// Its port is closed.
    Refuse,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct SickServer {
    port: u16,
    /// A port that is bound and not listened on refuses, and no other process gets it.
    _closed: Option<TcpSocket>,
    _serving: JoinSet<()>,
}

impl SickServer {
    pub fn start(symptom: Symptom) -> Result<Self> {
        let starting = "starting a sick server";
        let socket = TcpSocket::new_v4().during(starting)?;
        let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        socket.bind(anywhere).during(starting)?;
        let port = socket.local_addr().during(starting)?.port();
        let mut serving = JoinSet::new();
        let mut closed = None;
        if symptom == Symptom::Refuse {
            closed = Some(socket);
        } else {
            let listener = socket.listen(BACKLOG).during(starting)?;
            serving.spawn(serve(listener, symptom));
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

async fn serve(listener: TcpListener, symptom: Symptom) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files: the next may find one.
            tokio::time::sleep(DRIP_INTERVAL).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        connections.spawn(hold(stream, symptom));
    }
}

async fn hold(stream: TcpStream, symptom: Symptom) {
    let (mut reading, mut writing) = stream.into_split();
    let read = async {
        let mut buffer = [0; 4096];
        while matches!(reading.read(&mut buffer).await, Ok(length) if length > 0) {}
    };
    let write = async {
        if symptom == Symptom::Drip {
            let endless = HEAD.iter().chain(std::iter::repeat(&b'z'));
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
        let refusing = SickServer::start(Symptom::Refuse).unwrap();
        let address = refusing.at(Ipv4Addr::new(127, 0, 3, 4));
        assert!(TcpStream::connect(address).await.is_err());
        let hanging = SickServer::start(Symptom::Hang).unwrap();
        let address = hanging.at(Ipv4Addr::new(127, 0, 3, 4));
        assert!(TcpStream::connect(address).await.is_ok());
    }
}
