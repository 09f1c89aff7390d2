//! The bytes of an object as they come: as many at a time as the connection brought.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::failure::Failure;

/// Ends with a failure when the store cuts or falls silent. Who does not read, stops the store.
pub struct Download(BoxStream<'static, Result<Bytes, Failure>>);

impl Download {
    /// `chunk`: how long the next bytes may take.
    pub(super) fn of(body: Incoming, chunk: Duration) -> Self {
        Self(stream::try_unfold(body, move |body| next(body, chunk)).boxed())
    }
}

async fn next(mut body: Incoming, chunk: Duration) -> Result<Option<(Bytes, Incoming)>, Failure> {
    loop {
        let frame = timeout(chunk, body.frame()).await;
        let frame = frame.map_err(|_| Failure::TimedOut(chunk))?;
        let Some(frame) = frame.transpose().map_err(|_| Failure::Cut)? else {
            return Ok(None);
        };
        if let Ok(data) = frame.into_data() {
            return Ok(Some((data, body)));
        }
    }
}

impl Stream for Download {
    type Item = Result<Bytes, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").finish_non_exhaustive()
    }
}
