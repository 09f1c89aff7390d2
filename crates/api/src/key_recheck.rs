//! Checks the API key of a long response again while it is sent, so that a key that was deactivated
//! gets nothing more.

use std::convert::Infallible;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use bytes::Bytes;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::KeyRight;
use futures::stream::{self, Stream, TryStreamExt as _};
use http::HeaderValue;
use http::request::Parts;

use crate::api_keys::{ApiKeyCache, AuthenticationError};
use crate::auth::API_KEY_HEADER;
use crate::caller::Caller;
use crate::state::App;

type StreamError = Box<dyn Error + Send + Sync>;

/// The key of a request. As an extractor it comes after the caller, which some routes read from
/// another header.
#[derive(Debug)]
pub(crate) struct KeyRecheck {
    keys: Arc<ApiKeyCache>,
    /// None: a part of this program calls the API for a person. Marked as sensitive, so it is not
    /// in debug output.
    presented: Option<HeaderValue>,
    rights: Vec<KeyRight>,
    address: Option<IpAddr>,
}

impl FromRequestParts<App> for KeyRecheck {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let is_in_process = parts.extensions.get::<Caller>().is_some();
        let presented = parts.headers.get(API_KEY_HEADER).cloned();
        let presented = presented.filter(|_| !is_in_process).map(|mut key| {
            key.set_sensitive(true);
            key
        });
        Ok(Self {
            keys: Arc::clone(&app.keys),
            presented,
            rights: parts
                .extensions
                .get::<KeyRight>()
                .copied()
                .into_iter()
                .collect(),
            address: parts.extensions.get::<ClientAddress>().map(|it| it.0),
        })
    }
}

impl KeyRecheck {
    /// The response needs this right beside that of its route.
    #[must_use]
    pub(crate) fn with_right(mut self, right: KeyRight) -> Self {
        self.rights.push(right);
        self
    }

    /// Whether the key is still accepted. Nearly always the cache has the answer.
    pub(crate) async fn check(&self) -> Result<(), AuthenticationError> {
        let Some(presented) = &self.presented else {
            return Ok(());
        };
        for right in &self.rights {
            let keys = &self.keys;
            keys.authenticate(presented.as_bytes(), *right, self.address)
                .await?;
        }
        Ok(())
    }

    /// Checks the key before each chunk of a body is sent. A refusal cuts the body off, so the
    /// caller sees that it is not complete.
    pub(crate) fn guard<S>(
        self,
        chunks: S,
    ) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static
    where
        S: Stream<Item = Result<Bytes, StreamError>> + Send + 'static,
    {
        let state = (self, Box::pin(chunks));
        stream::try_unfold(state, |(key, mut chunks)| async move {
            let Some(chunk) = chunks.try_next().await? else {
                return Ok::<_, StreamError>(None);
            };
            let refusal = key.check().await.err();
            if refusal.is_some() {
                return Err(StreamError::from("the API key is not accepted any more"));
            }
            Ok(Some((chunk, (key, chunks))))
        })
    }
}
