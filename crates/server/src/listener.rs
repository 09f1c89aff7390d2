//! A listener and its connections, and how they end without a request lost.

#[cfg(test)]
mod tests;
mod unread;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use unread::ReadOn;

/// Connections that the kernel keeps for us while we are busy; it may allow fewer.
const BACKLOG: u32 = 4096;
/// How long the head of a request may take, and an idle connection stays: longer
/// than the 60 s of common balancers, so that it is they who hang up.
const HEAD: Duration = Duration::from_secs(75);
/// How long a connection may still bring a request after the last one was accepted.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long to wait when the process is out of open files.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: choose another {setting}, or port 0 for any free one")]
pub struct BindFailure {
    setting: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// Takes the address; port 0 becomes a real one.
pub fn bind(setting: &'static str, address: SocketAddr) -> Result<TcpListener, BindFailure> {
    let failed = |source| BindFailure {
        setting,
        address,
        source,
    };
    listen(address).map_err(failed)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // A restart must not wait for connections that linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A router that is being served.
#[derive(Debug)]
pub struct Served {
    connections: TaskTracker,
    ending: Arc<Ending>,
}

/// How far the end has come.
#[derive(Debug, Default)]
struct Ending {
    /// Each answer asks its caller to connect anew, elsewhere.
    announced: AtomicBool,
    /// Nothing is accepted any more.
    closing: CancellationToken,
}

impl Ending {
    /// The last to connect have had time to say what they want.
    async fn overdue(&self) {
        self.closing.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    }
}

impl Served {
    /// Serves, and says in the log where.
    pub fn start(name: &'static str, listener: TcpListener, router: Router) -> Self {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(listener = name, %address, "listening");
        }
        let served = Self {
            connections: TaskTracker::new(),
            ending: Arc::default(),
        };
        let accepting = accept(
            listener,
            router,
            served.connections.clone(),
            served.ending.clone(),
        );
        served.connections.spawn(accepting);
        served
    }

    /// Serves on for `grace`, so that balancers notice, then finishes what is in flight.
    ///
    /// Connections that are used during the grace end with their answer; closing one
    /// that is idle could cross with a request on its way.
    pub async fn stop(&self, grace: Duration) {
        self.ending.announced.store(true, Ordering::Relaxed);
        tokio::time::sleep(grace).await;
        self.ending.closing.cancel();
        self.connections.close();
        self.connections.wait().await;
    }
}

async fn accept(
    listener: TcpListener,
    router: Router,
    connections: TaskTracker,
    ending: Arc<Ending>,
) {
    let open = |stream, peer| {
        connections.spawn(serve(stream, peer, router.clone(), Arc::clone(&ending)));
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => open(stream, peer),
                Err(error) => refused(&error).await,
            },
            () = ending.closing.cancelled() => break,
        }
    }
    // Who stands in the kernel's queue has connected as far as they know.
    if let Ok(queue) = listener.into_std() {
        while let Ok((stream, peer)) = queue.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                open(stream, peer);
            }
        }
    }
}

async fn refused(error: &io::Error) {
    // Who hung up before we looked takes nothing from the others.
    let gone = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
    ];
    if !gone.contains(&error.kind()) {
        tracing::error!(%error, "a connection could not be accepted; see ulimit -n");
        tokio::time::sleep(OUT_OF_FILES).await;
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, ending: Arc<Ending>) {
    // Answers are written whole: waiting to fill a packet only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection ended before it began");
        return;
    }
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request| answer(&router, peer, &ending, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = ending.overdue() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn answer(
    router: &TowerToHyperService<Router>,
    peer: SocketAddr,
    ending: &Ending,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, std::convert::Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    let mut response = router.call(request.map(ReadOn::new)).await?;
    if ending.announced.load(Ordering::Relaxed) {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}
