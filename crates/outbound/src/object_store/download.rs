//! Streams the bytes of an object in the chunks that arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use hyper::body::Incoming;

use super::failure::ObjectStoreFailure;
use crate::http_exchange::next_chunk;

/// Ends with a failure when the store closes the connection or stalls. A slow reader slows the
/// store down.
pub struct ObjectDownload(BoxStream<'static, Result<Bytes, ObjectStoreFailure>>);

impl ObjectDownload {
    /// `chunk` is the timeout for the next chunk.
    pub(super) fn new(body: Incoming, chunk: Duration) -> Self {
        let chunks = stream::try_unfold(body, move |mut body| async move {
            let bytes = next_chunk(&mut body, chunk).await?;
            Ok(bytes.map(|bytes| (bytes, body)))
        });
        Self(chunks.boxed())
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
