//! A proxy in front of the object store that pauses at the call that a test chose.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use url::Url;

/// The call at which the proxy pauses, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PausePoint {
    /// Before the store gets the request.
    Before(usize),
    /// After the store did it, before the caller gets the response.
    After(usize),
}

pub(crate) struct PausingProxy {
    pub(crate) url: Url,
    state: Arc<ProxyState>,
}

struct ProxyState {
    pause_point: PausePoint,
    calls: AtomicUsize,
    paused: Notify,
    resumed: Notify,
}

impl PausingProxy {
    pub(crate) async fn in_front_of(store: &Url, stop: PausePoint) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let store = store[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let passage = Arc::new(ProxyState {
            pause_point: stop,
            calls: AtomicUsize::new(0),
            paused: Notify::new(),
            resumed: Notify::new(),
        });
        tokio::spawn({
            let passage = passage.clone();
            async move {
                while let Ok((caller, _)) = listener.accept().await {
                    let store = TcpStream::connect(&store).await.unwrap();
                    let ((from_caller, to_caller), (from_store, to_store)) =
                        (caller.into_split(), store.into_split());
                    tokio::spawn(passage.clone().forward_requests(from_caller, to_store));
                    tokio::spawn(passage.clone().forward_responses(from_store, to_caller));
                }
            }
        });
        let url = url.parse().unwrap();
        Self {
            url,
            state: passage,
        }
    }

    /// Waits until the chosen call is made.
    pub(crate) async fn wait_until_paused(&self) {
        self.state.paused.notified().await;
    }

    /// Forwards the chosen call.
    pub(crate) fn resume(&self) {
        self.state.resumed.notify_one();
    }
}

impl ProxyState {
    async fn forward_requests(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let bytes = &buffer[..count];
            let methods: [&[u8]; 5] = [b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE "];
            if methods.iter().any(|method| bytes.starts_with(method)) {
                let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
                if self.pause_point == PausePoint::Before(call) {
                    self.pause().await;
                }
            }
            if to.write_all(bytes).await.is_err() {
                return;
            }
        }
    }

    async fn forward_responses(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            if self.pause_point == PausePoint::After(self.calls.load(Ordering::SeqCst)) {
                self.pause().await;
            }
            if to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }

    async fn pause(&self) {
        self.paused.notify_one();
        self.resumed.notified().await;
    }
}
