//! A receiver of callbacks for the scenarios.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use crate::http_request::read_request;

/// A callback with its headers; names are lowercase.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedCallback {
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct ScenarioReceiver {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedCallback>>>,
}

impl ScenarioReceiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    if let Some(callback) = answer(connection).await {
                        kept.lock().await.push(callback);
                    }
                });
            }
        });
        Self { url, received }
    }

    /// The callback of a cargo, if it has arrived.
    pub(crate) async fn find(&self, cargo: &str) -> Option<ReceivedCallback> {
        let received = self.received.lock().await;
        received
            .iter()
            .find(|callback| {
                let body: Value = serde_json::from_slice(&callback.body).unwrap_or_default();
                body.get("cargo_id").and_then(Value::as_str) == Some(cargo)
            })
            .cloned()
    }
}

/// Reads one request and acknowledges it.
async fn answer(mut connection: TcpStream) -> Option<ReceivedCallback> {
    let request = read_request(&mut connection).await?;
    let response = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    connection.write_all(response).await.ok()?;
    Some(ReceivedCallback {
        headers: request.headers,
        body: request.body,
    })
}
