//! Stands before the store, and stops at the call that a test chose.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use url::Url;

/// Which call is the last, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The store never hears of it.
    Before(usize),
    /// The store does it, and nobody hears of that.
    After(usize),
}

pub(crate) struct Gate {
    pub(crate) url: Url,
    passage: Arc<Passage>,
}

struct Passage {
    stop: Stop,
    calls: AtomicUsize,
    stopped: Notify,
    opened: Notify,
}

impl Gate {
    pub(crate) async fn before(store: &Url, stop: Stop) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let store = store[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let passage = Arc::new(Passage {
            stop,
            calls: AtomicUsize::new(0),
            stopped: Notify::new(),
            opened: Notify::new(),
        });
        tokio::spawn({
            let passage = passage.clone();
            async move {
                while let Ok((caller, _)) = listener.accept().await {
                    let store = TcpStream::connect(&store).await.unwrap();
                    let ((heard, answer), (back, ask)) = (caller.into_split(), store.into_split());
                    tokio::spawn(passage.clone().ask(heard, ask));
                    tokio::spawn(passage.clone().answer(back, answer));
                }
            }
        });
        let url = url.parse().unwrap();
        Self { url, passage }
    }

    /// Returns when the chosen call was made.
    pub(crate) async fn stopped(&self) {
        self.passage.stopped.notified().await;
    }

    /// Lets the chosen call pass.
    pub(crate) fn open(&self) {
        self.passage.opened.notify_one();
    }
}

impl Passage {
    async fn ask(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let bytes = &buffer[..count];
            let methods: [&[u8]; 5] = [b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE "];
            if methods.iter().any(|method| bytes.starts_with(method)) {
                let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
                if self.stop == Stop::Before(call) {
                    self.hold().await;
                }
            }
            if to.write_all(bytes).await.is_err() {
                return;
            }
        }
    }

    async fn answer(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            if self.stop == Stop::After(self.calls.load(Ordering::SeqCst)) {
                self.hold().await;
            }
            if to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }

    async fn hold(&self) {
        self.stopped.notify_one();
        self.opened.notified().await;
    }
}
