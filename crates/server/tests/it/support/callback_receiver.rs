//! A callback receiver on loopback that answers with the statuses that a test sets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;

#[derive(Clone, Default)]
struct ReceiverState {
    received: Arc<Mutex<Vec<Value>>>,
    next_statuses: Arc<Mutex<VecDeque<u16>>>,
}

pub(crate) struct CallbackReceiver {
    state: ReceiverState,
    url: String,
    server_task: tokio::task::JoinHandle<()>,
}

impl CallbackReceiver {
    /// Starts a receiver that answers 200 unless statuses are queued.
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/callback", listener.local_addr().unwrap());
        let state = ReceiverState::default();
        let router = Router::new()
            .route("/callback", post(receive))
            .with_state(state.clone());
        let server_task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            state,
            url,
            server_task,
        }
    }

    /// Sets the next statuses, in this order. After them the receiver answers 200 again.
    pub(crate) fn queue_statuses(&self, statuses: impl IntoIterator<Item = u16>) {
        self.state.next_statuses.lock().unwrap().extend(statuses);
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn callbacks(&self) -> Vec<Value> {
        self.state.received.lock().unwrap().clone()
    }
}

impl Drop for CallbackReceiver {
    fn drop(&mut self) {
        self.server_task.abort();
    }
}

async fn receive(State(state): State<ReceiverState>, body: String) -> StatusCode {
    state
        .received
        .lock()
        .unwrap()
        .push(serde_json::from_str(&body).unwrap());
    let status = state
        .next_statuses
        .lock()
        .unwrap()
        .pop_front()
        .unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}
