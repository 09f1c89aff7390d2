//! The listener. Faults can close a connection without an answer.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::router;
use crate::state::SimulatorState;

/// Serves until `stop` is cancelled, then closes every connection.
pub async fn serve(listener: TcpListener, world: Arc<SimulatorState>, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        // Out of descriptors, or the client closed early: the next accept may succeed.
        let Ok((stream, _)) = accepted else {
            tokio::task::yield_now().await;
            continue;
        };
        let (world, stop) = (Arc::clone(&world), stop.clone());
        connections.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = serve_connection(stream, world) => {}
            }
        });
    }
    connections.close();
    connections.wait().await;
}

async fn serve_connection(stream: TcpStream, world: Arc<SimulatorState>) {
    // Send small answers at once.
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request: Request<Incoming>| {
        let world = Arc::clone(&world);
        async move { answer_or_drop(world, request).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // The client closed the connection, or a fault did.
    drop(served);
}

/// An error makes hyper close the connection without an answer.
async fn answer_or_drop(
    world: Arc<SimulatorState>,
    request: Request<Incoming>,
) -> io::Result<Response> {
    let request = request.map(Body::new);
    let answered = router::route_request(world, request).await;
    answered.ok_or_else(|| io::Error::other("a fault dropped the connection"))
}
