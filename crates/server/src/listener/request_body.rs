//! What a caller still sends when the answer is already known.
//!
//! Hyper closes a connection whose body nobody reads to its end, without a word of it in
//! the answer: a caller who sends the next request on it loses that one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// Who sends more than this is cut off.
const MOST: usize = 64 << 20;
/// Who takes longer than this is cut off.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body that is read to its end even when it is dropped before.
#[derive(Debug)]
pub(super) struct ReadOn(Option<Incoming>);

impl ReadOn {
    pub(super) const fn new(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl Drop for ReadOn {
    fn drop(&mut self) {
        if let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) {
            tokio::spawn(timeout(PATIENCE, read(body)));
        }
    }
}

async fn read(mut body: Incoming) {
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await
        && length <= MOST
    {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
}

impl Body for ReadOn {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}
