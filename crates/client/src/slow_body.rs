//! The body of a request that arrives in pieces, as over a slow network.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

#[derive(Debug)]
pub(crate) struct SlowBody {
    rest: Bytes,
    piece_bytes: usize,
    /// Before each piece.
    pause: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl SlowBody {
    /// Sends the body in `pieces` parts of about the same size.
    pub(crate) fn new(body: Bytes, pieces: usize, pause: Duration) -> Self {
        Self {
            piece_bytes: body.len().div_ceil(pieces.max(1)).max(1),
            rest: body,
            pause,
            sleep: Box::pin(sleep(pause)),
        }
    }
}

impl Body for SlowBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        ready!(self.sleep.as_mut().poll(context));
        let next = Instant::now() + self.pause;
        self.sleep.as_mut().reset(next);
        let size = self.piece_bytes.min(self.rest.len());
        let piece = self.rest.split_to(size);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn the_pieces_make_the_body() {
        let mut body = SlowBody::new(Bytes::from_static(b"0123456789"), 4, Duration::ZERO);
        assert_eq!(body.size_hint().exact(), Some(10));
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(pieces, ["012", "345", "678", "9"]);
        assert!(body.is_end_stream());
    }
}
