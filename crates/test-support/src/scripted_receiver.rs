//! An HTTP server for tests that sends scripted replies, valid or not.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// The reaction to a request. The last reply of a script is repeated.
#[derive(Debug, Clone)]
pub enum ScriptedReply {
    /// Sends these bytes and keeps the connection open.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    SendAndClose(Vec<u8>),
    /// Sends these bytes and resets the connection.
    SendAndReset(Vec<u8>),
    /// Sends these bytes, then one byte at intervals, without end.
    Drip(Vec<u8>),
    /// Sends the first, then repeats the second as fast as the client reads.
    Flood(Vec<u8>, Vec<u8>),
    Silence,
}

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Request line and headers.
    pub head: String,
    pub body: Vec<u8>,
    pub server_name: Option<String>,
}

impl ReceivedRequest {
    /// The value of a header whose name is written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = fields
            .filter(|(field, _)| *field == name)
            .map(|(_, value)| value);
        values.next()
    }
}

#[derive(Debug)]
struct ReceiverLog {
    script: Mutex<VecDeque<ScriptedReply>>,
    received: Mutex<Vec<ReceivedRequest>>,
    connections: AtomicUsize,
    closed: Semaphore,
}

#[derive(Debug)]
pub struct ScriptedReceiver {
    address: SocketAddr,
    log: Arc<ReceiverLog>,
    accepting: JoinHandle<()>,
}

impl Drop for ScriptedReceiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A complete HTTP response with a length.
pub fn plain_reply(status: u16, body: &str) -> ScriptedReply {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n\r\n{body}");
    ScriptedReply::Send(answer.into_bytes())
}

impl ScriptedReceiver {
    pub async fn start(script: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::listen("127.0.0.1", None, script).await
    }

    pub async fn listen(
        host: &str,
        tls: Option<TlsAcceptor>,
        script: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(ReceiverLog {
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

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self) -> String {
        format!("http://{}/callback", self.address)
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.log.received.lock().unwrap().clone()
    }

    /// Adds replies before the last one, which is repeated.
    pub fn insert_before_last(&self, replies: impl IntoIterator<Item = ScriptedReply>) {
        let mut script = self.log.script.lock().unwrap();
        let last = script.pop_back();
        script.extend(replies.into_iter().chain(last));
    }

    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Waits until one more connection has ended.
    pub async fn wait_for_close(&self) {
        self.log.closed.acquire().await.unwrap().forget();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, log: Arc<ReceiverLog>) {
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

async fn serve_plain(mut tcp: TcpStream, log: &ReceiverLog) {
    if serve(&mut tcp, None, log).await == ConnectionEnd::Reset {
        tcp.set_zero_linger().unwrap();
    }
}

async fn serve_tls(tcp: TcpStream, tls: TlsAcceptor, log: &ReceiverLog) {
    // A client that does not trust the certificate closes here.
    if let Ok(mut stream) = tls.accept(tcp).await {
        let server_name = stream.get_ref().1.server_name().map(str::to_owned);
        serve(&mut stream, server_name, log).await;
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ConnectionEnd {
    Close,
    Reset,
}

/// Answers requests until the script or the client ends it.
async fn serve<S>(stream: &mut S, server_name: Option<String>, log: &ReceiverLog) -> ConnectionEnd
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = &mut BufReader::new(stream);
    while let Some((head, body)) = read_request(stream).await {
        log.received.lock().unwrap().push(ReceivedRequest {
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
            ScriptedReply::Send(bytes) => send(stream, &bytes).await,
            ScriptedReply::SendAndClose(bytes) => {
                send(stream, &bytes).await;
                return ConnectionEnd::Close;
            }
            ScriptedReply::SendAndReset(bytes) => {
                send(stream, &bytes).await;
                return ConnectionEnd::Reset;
            }
            ScriptedReply::Drip(bytes) => {
                send(stream, &bytes).await;
                drip(stream).await;
                return ConnectionEnd::Close;
            }
            ScriptedReply::Flood(first, repeated) => {
                send(stream, &first).await;
                while stream.write_all(&repeated).await.is_ok() {}
                return ConnectionEnd::Close;
            }
            ScriptedReply::Silence => {
                // Wait until the client closes.
                let _ = stream.read(&mut [0]).await;
                return ConnectionEnd::Close;
            }
        }
    }
    ConnectionEnd::Close
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) {
    // The client may have closed; the tests check what it received.
    let _ = stream.write_all(bytes).await;
    let _ = stream.flush().await;
}

async fn drip<S: AsyncWrite + Unpin>(stream: &mut S) {
    let mut interval = tokio::time::interval(Duration::from_millis(20));
    loop {
        interval.tick().await;
        if stream.write_all(b"x").await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// One request, or `None` when the client has closed.
async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(String, Vec<u8>)> {
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
