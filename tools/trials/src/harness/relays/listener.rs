//! The accept loop of every relay and every test server.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::harness::servers::free_port;
use crate::harness::{FailureContext as _, Result};

/// Out of file descriptors, the next accept may succeed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Handles each connection in its own task, until the returned set is dropped.
pub fn serve_connections<F, C>(listener: TcpListener, mut handle: F) -> JoinSet<()>
where
    F: FnMut(TcpStream) -> C + Send + 'static,
    C: Future<Output = ()> + Send + 'static,
{
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            connections.spawn(handle(stream));
        }
    });
    serving
}

/// The same on a free port, which is also returned.
pub async fn serve_on_free_port<F, C>(what: &str, handle: F) -> Result<(SocketAddr, JoinSet<()>)>
where
    F: FnMut(TcpStream) -> C + Send + 'static,
    C: Future<Output = ()> + Send + 'static,
{
    let address = free_port::find_free_address()?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.context(format!("starting {what}"))?;
    Ok((address, serve_connections(listener, handle)))
}
