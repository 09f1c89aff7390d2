//! Where callbacks go: every one is acknowledged, and written into the book.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::{During as _, Result};
use crate::fleet::answers::Book;

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Hook {
    pub book: Arc<Book>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Hook {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.during("listening for callbacks")?;
        let address = listener.local_addr().during("listening for callbacks")?;
        let book = Arc::new(Book::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&book)));
        Ok(Self {
            book,
            address,
            _serving: serving,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}

async fn serve(listener: TcpListener, book: Arc<Book>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let book = Arc::clone(&book);
        connections.spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| async {
                // Half a callback is none: its sender will come again.
                if let Ok(body) = request.into_body().collect().await {
                    book.take(body.to_bytes());
                }
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            });
            // The sender may hang up whenever it likes.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}
