//! A receiver of callbacks on loopback that answers as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;

#[derive(Clone, Default)]
struct Book {
    received: Arc<Mutex<Vec<Value>>>,
    answers: Arc<Mutex<VecDeque<u16>>>,
}

pub(crate) struct Receiver {
    book: Book,
    url: String,
    served: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Answers 200, unless told otherwise.
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/callback", listener.local_addr().unwrap());
        let book = Book::default();
        let router = Router::new()
            .route("/callback", post(receive))
            .with_state(book.clone());
        let served = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { book, url, served }
    }

    /// The next answers, in order; then 200 again.
    pub(crate) fn answer(&self, statuses: impl IntoIterator<Item = u16>) {
        self.book.answers.lock().unwrap().extend(statuses);
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn received(&self) -> Vec<Value> {
        self.book.received.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn receive(State(book): State<Book>, body: String) -> StatusCode {
    book.received
        .lock()
        .unwrap()
        .push(serde_json::from_str(&body).unwrap());
    let status = book.answers.lock().unwrap().pop_front().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}
