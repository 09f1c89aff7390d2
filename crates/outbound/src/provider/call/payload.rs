//! What is sent: from memory or from a spool, its length known before the first byte.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;

use crate::provider::spool::Chunks;

pub(in crate::provider) struct Payload {
    pieces: BoxStream<'static, io::Result<Bytes>>,
    left: u64,
}

impl Payload {
    pub(in crate::provider) fn empty() -> Self {
        Self {
            pieces: stream::empty().boxed(),
            left: 0,
        }
    }

    pub(in crate::provider) fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let left = bytes.len() as u64;
        Self {
            pieces: stream::once(async { Ok(bytes) }).boxed(),
            left,
        }
    }

    pub(in crate::provider) fn json(document: &Value) -> Self {
        Self::bytes(document.to_string())
    }

    pub(in crate::provider) fn chunks(chunks: Chunks) -> Self {
        let left = chunks.length();
        Self {
            pieces: chunks.into_stream().boxed(),
            left,
        }
    }

    /// The same, with every byte of one value in the place of another.
    #[must_use]
    pub(in crate::provider) fn replacing(self, from: u8, to: u8) -> Self {
        let replaced = move |piece: io::Result<Bytes>| {
            let mut bytes = Vec::from(piece?);
            bytes
                .iter_mut()
                .filter(|byte| **byte == from)
                .for_each(|byte| *byte = to);
            Ok(Bytes::from(bytes))
        };
        Self {
            pieces: self.pieces.map(replaced).boxed(),
            left: self.left,
        }
    }

    #[must_use]
    pub(in crate::provider) fn then(self, next: Self) -> Self {
        Self {
            left: self.left + next.left,
            pieces: self.pieces.chain(next.pieces).boxed(),
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.pieces.poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &piece {
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        piece.map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl fmt::Debug for Payload {
    /// Without a byte of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.left)
    }
}
