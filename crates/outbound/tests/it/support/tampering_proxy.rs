//! A proxy that forwards requests to the real object store and tampers with responses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Tampering {
    /// Turns the n-th refusal, counted from 0, into a success. A 404 does not count.
    AcceptRefusal(usize),
    /// Removes this header from responses.
    DropHeader(&'static str),
}

#[derive(Debug)]
pub(crate) struct TamperingProxy {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Drop for TamperingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TamperingProxy {
    pub(crate) async fn start(store: &Url, lie: Tampering) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let host = store.host_str().unwrap().to_owned();
        let port = store.port_or_known_default().unwrap();
        let accepting = tokio::spawn(async move {
            let refusals = Arc::new(AtomicUsize::new(0));
            while let Ok((caller, _)) = listener.accept().await {
                let store = TcpStream::connect((host.as_str(), port)).await.unwrap();
                tokio::spawn(forward(caller, store, lie, Arc::clone(&refusals)));
            }
        });
        Self { address, accepting }
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://{}", self.address)).unwrap()
    }
}

async fn forward(
    mut caller: TcpStream,
    mut store: TcpStream,
    lie: Tampering,
    refusals: Arc<AtomicUsize>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = caller.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    caller.read_exact(&mut body).await.unwrap();
    // One exchange per connection, so that EOF ends the response.
    let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    store.write_all(head.as_bytes()).await.unwrap();
    let _ = store.write_all(&body).await;
    let mut answer = Vec::new();
    let _ = store.read_to_end(&mut answer).await;
    let _ = caller.write_all(&tamper(answer, lie, &refusals)).await;
}

fn tamper(answer: Vec<u8>, lie: Tampering, refusals: &AtomicUsize) -> Vec<u8> {
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).unwrap_or_default().to_owned();
    match lie {
        Tampering::AcceptRefusal(number) if status.starts_with('4') && status != "404" => {
            if refusals.fetch_add(1, Ordering::SeqCst) == number {
                let yes = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\netag: \"1\"\r\n\r\n";
                return yes.into();
            }
            answer
        }
        Tampering::DropHeader(name) => text
            .split_inclusive("\r\n")
            .filter(|line| !line.to_lowercase().starts_with(name))
            .collect::<String>()
            .into_bytes(),
        Tampering::AcceptRefusal(_) => answer,
    }
}
