//! One call to a provider, with all that a handler needs to answer it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;

use crate::clock::Moment;
use crate::provider::Provider;
use crate::refusal::{No, Refusal};
use crate::world::{Shared, World};

pub type Answered = Result<Response, No>;

#[derive(Debug)]
pub struct Call {
    pub world: Arc<World>,
    pub provider: Provider,
    pub account: Shared,
    pub now: Moment,
    pub method: Method,
    /// The path after the provider's prefix.
    pub path: String,
    pub query: HashMap<String, String>,
    pub headers: HeaderMap,
    /// Where the caller found us, for links to ourselves.
    pub origin: String,
    /// Behind a lock that nobody waits for, so that a call can be shared.
    pub body: Mutex<Body>,
}

impl Call {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn take_body(&mut self) -> Body {
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(body)
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.query.get(name)?.parse().ok()
    }

    /// The body, if it is no larger than this.
    pub async fn bytes(&mut self, most: usize) -> Result<Bytes, No> {
        let body = self.take_body();
        let too_large = |_| {
            let mut refusal = Refusal::new(413, "Request exceeds the maximum size");
            refusal.is_html = self.provider == Provider::Anthropic;
            No::from(refusal)
        };
        to_bytes(body, most).await.map_err(too_large)
    }

    pub async fn json<T: DeserializeOwned>(&mut self, most: usize) -> Result<T, No> {
        let bytes = self.bytes(most).await?;
        let bytes = if bytes.is_empty() {
            Bytes::from_static(b"{}")
        } else {
            bytes
        };
        serde_json::from_slice(&bytes).map_err(|error| malformed(&error))
    }
}

pub fn malformed(error: &serde_json::Error) -> No {
    Refusal::new(
        400,
        format!("We could not parse the JSON body of your request: {error}"),
    )
    .into()
}

pub fn nothing_here(path: &str) -> No {
    Refusal::new(404, format!("Invalid URL ({path})")).into()
}

/// Runs what takes long for a large job where it holds up nobody.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, No> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refusal::new(500, "the simulator itself failed").into())
}
