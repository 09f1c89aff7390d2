//! Streams the bytes of an object in the chunks that arrive.

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

use super::failure::ObjectStoreFailure;

/// Ends with a failure when the store closes the connection or stalls. A slow reader slows the
/// store down.
pub struct ObjectDownload(BoxStream<'static, Result<Bytes, ObjectStoreFailure>>);

impl ObjectDownload {
    /// `chunk` is the timeout for the next chunk.
    pub(super) fn new(body: Incoming, chunk: Duration) -> Self {
        Self(stream::try_unfold(body, move |body| next_chunk(body, chunk)).boxed())
    }
}

async fn next_chunk(
    mut body: Incoming,
    chunk: Duration,
) -> Result<Option<(Bytes, Incoming)>, ObjectStoreFailure> {
    loop {
        let frame = timeout(chunk, body.frame()).await;
        let frame = frame.map_err(|_| ObjectStoreFailure::TimedOut(chunk))?;
        let Some(frame) = frame
            .transpose()
            .map_err(|_| ObjectStoreFailure::ConnectionClosed)?
        else {
            return Ok(None);
        };
        if let Ok(data) = frame.into_data() {
            return Ok(Some((data, body)));
        }
    }
}

impl Stream for ObjectDownload {
    type Item = Result<Bytes, ObjectStoreFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl fmt::Debug for ObjectDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").finish_non_exhaustive()
    }
}
