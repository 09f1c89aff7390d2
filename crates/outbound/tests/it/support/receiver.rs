//! A receiver that follows a script to the letter, however rude.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What is done when a request has come in. The last of a script is repeated.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes; the connection stays open.
    Send(Vec<u8>),
    /// These bytes, then the connection is closed without a farewell.
    SendAndClose(Vec<u8>),
    /// These bytes, then the connection is reset.
    SendAndReset(Vec<u8>),
    /// These bytes, then one more every now and then, without end.
    Drip(Vec<u8>),
    /// The first, then the second again and again as fast as it is read.
    Flood(Vec<u8>, Vec<u8>),
    Silence,
}

#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) server_name: Option<String>,
}

#[derive(Debug)]
struct Log {
    script: Mutex<VecDeque<Reply>>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    closed: Semaphore,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    log: Arc<Log>,
    accepting: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A whole answer with a length.
pub(crate) fn plain(status: u16, body: &str) -> Reply {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\n{body}");
    Reply::Send(answer.into_bytes())
}

impl Receiver {
    pub(crate) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen("127.0.0.1", None, script).await
    }

    pub(crate) async fn listen(
        host: &str,
        tls: Option<TlsAcceptor>,
        script: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log {
            script: Mutex::new(script.into_iter().collect()),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: Semaphore::new(0),
        });
        let accepting = tokio::spawn(accept(listener, tls, Arc::clone(&log)));
        Self {
            address,
            log,
            accepting,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/callback", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.log.received.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Waits until one more connection has ended.
    pub(crate) async fn one_closed(&self) {
        self.log.closed.acquire().await.unwrap().forget();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, log: Arc<Log>) {
    while let Ok((tcp, _)) = listener.accept().await {
        log.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, log) = (tls.clone(), Arc::clone(&log));
        tokio::spawn(async move {
            match tls {
                None => serve_plain(tcp, &log).await,
                Some(tls) => serve_tls(tcp, tls, &log).await,
            }
            log.closed.add_permits(1);
        });
    }
}

async fn serve_plain(mut tcp: TcpStream, log: &Log) {
    if serve(&mut tcp, None, log).await == Farewell::Reset {
        tcp.set_zero_linger().unwrap();
    }
}

async fn serve_tls(tcp: TcpStream, tls: TlsAcceptor, log: &Log) {
    // A client that does not trust us leaves here.
    if let Ok(mut stream) = tls.accept(tcp).await {
        let server_name = stream.get_ref().1.server_name().map(str::to_owned);
        serve(&mut stream, server_name, log).await;
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Farewell {
    None,
    Reset,
}

/// Answers requests until the script or the client ends it.
async fn serve<S>(stream: &mut S, server_name: Option<String>, log: &Log) -> Farewell
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some((head, body)) = read(stream).await {
        log.received.lock().unwrap().push(Received {
            head,
            body,
            server_name: server_name.clone(),
        });
        let reply = {
            let mut script = log.script.lock().unwrap();
            if script.len() > 1 {
                script.pop_front()
            } else {
                script.front().cloned()
            }
        };
        match reply.unwrap() {
            Reply::Send(bytes) => send(stream, &bytes).await,
            Reply::SendAndClose(bytes) => {
                send(stream, &bytes).await;
                return Farewell::None;
            }
            Reply::SendAndReset(bytes) => {
                send(stream, &bytes).await;
                return Farewell::Reset;
            }
            Reply::Drip(bytes) => {
                send(stream, &bytes).await;
                drip(stream).await;
                return Farewell::None;
            }
            Reply::Flood(first, again) => {
                send(stream, &first).await;
                while stream.write_all(&again).await.is_ok() {}
                return Farewell::None;
            }
            Reply::Silence => {
                // Until the client has had enough.
                let _ = stream.read(&mut [0]).await;
                return Farewell::None;
            }
        }
    }
    Farewell::None
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) {
    // The client may have left; the tests look at what it made of it.
    let _ = stream.write_all(bytes).await;
    let _ = stream.flush().await;
}

async fn drip<S: AsyncWrite + Unpin>(stream: &mut S) {
    let mut now_and_then = tokio::time::interval(Duration::from_millis(20));
    loop {
        now_and_then.tick().await;
        if stream.write_all(b"x").await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// One request, or nothing when the client has closed.
async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}
