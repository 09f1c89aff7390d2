//! The listening socket, and connections that can be closed without an answer.

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

use crate::surface;
use crate::world::World;

/// Serves until told to stop, then closes every connection.
pub async fn serve(listener: TcpListener, world: Arc<World>, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        // Out of descriptors, or a caller that went away: the next may do better.
        let Ok((stream, _)) = accepted else {
            tokio::task::yield_now().await;
            continue;
        };
        let (world, stop) = (Arc::clone(&world), stop.clone());
        connections.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = connection(stream, world) => {}
            }
        });
    }
    connections.close();
    connections.wait().await;
}

async fn connection(stream: TcpStream, world: Arc<World>) {
    // A small answer shall not wait for a larger one.
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request: Request<Incoming>| {
        let world = Arc::clone(&world);
        async move { answer(world, request).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A connection that ends early is the caller's affair, or a fault of ours on purpose.
    drop(served);
}

/// An error closes the connection: this is how an answer is withheld.
async fn answer(world: Arc<World>, request: Request<Incoming>) -> io::Result<Response> {
    let request = request.map(Body::new);
    let answered = surface::serve(world, request).await;
    answered.ok_or_else(|| io::Error::other("dropped, as a fault asked"))
}
