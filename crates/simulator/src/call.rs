//! One call to a simulated provider.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::clock::SimulatorTime;
use crate::provider::{SimulatedDialect, SimulatedProvider};
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::state::{SharedAccount, SimulatorState};

pub type CallResult = Result<Response, CallRejection>;

#[derive(Debug)]
pub struct SimulatedCall {
    pub world: Arc<SimulatorState>,
    pub provider: SimulatedProvider,
    pub dialect: SimulatedDialect,
    pub account: SharedAccount,
    pub now: SimulatorTime,
    pub method: Method,
    /// The path after the provider's prefix.
    pub path: String,
    pub query: HashMap<String, String>,
    pub headers: HeaderMap,
    /// Scheme and host of the request, for links in responses.
    pub origin: String,
    /// In a mutex only to make the call `Sync`.
    pub body: Mutex<Body>,
}

impl SimulatedCall {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn take_body(&mut self) -> Body {
        std::mem::take(self.body.get_mut())
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.query.get(name)?.parse().ok()
    }

    /// Refuses a body of more than `most` bytes.
    pub async fn bytes(&mut self, most: usize) -> Result<Bytes, CallRejection> {
        let body = self.take_body();
        let too_large = |_| {
            let mut refusal = SimulatedRefusal::new(413, "Request exceeds the maximum size");
            refusal.is_html = self.provider == SimulatedProvider::Anthropic;
            CallRejection::from(refusal)
        };
        to_bytes(body, most).await.map_err(too_large)
    }

    pub async fn json<T: DeserializeOwned>(&mut self, most: usize) -> Result<T, CallRejection> {
        let bytes = self.bytes(most).await?;
        let bytes = if bytes.is_empty() {
            Bytes::from_static(b"{}")
        } else {
            bytes
        };
        serde_json::from_slice(&bytes).map_err(|error| malformed(&error))
    }
}

pub fn malformed(error: &serde_json::Error) -> CallRejection {
    SimulatedRefusal::new(
        400,
        format!("We could not parse the JSON body of your request: {error}"),
    )
    .into()
}

pub fn no_such_path(path: &str) -> CallRejection {
    SimulatedRefusal::new(404, format!("Invalid URL ({path})")).into()
}

/// Runs slow work for large jobs on a blocking thread.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallRejection> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| SimulatedRefusal::new(500, "the simulator itself failed").into())
}
