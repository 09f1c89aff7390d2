//! The body of a request, from memory or from a spool, with a known length.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;

use crate::provider::spool::SpoolChunks;

pub(in crate::provider) struct ProviderRequestBody {
    chunks: BoxStream<'static, io::Result<Bytes>>,
    remaining_bytes: u64,
}

impl ProviderRequestBody {
    pub(in crate::provider) fn empty() -> Self {
        Self {
            chunks: stream::empty().boxed(),
            remaining_bytes: 0,
        }
    }

    pub(in crate::provider) fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let left = bytes.len() as u64;
        Self {
            chunks: stream::once(async { Ok(bytes) }).boxed(),
            remaining_bytes: left,
        }
    }

    pub(in crate::provider) fn json(document: &Value) -> Self {
        Self::bytes(document.to_string())
    }

    pub(in crate::provider) fn from_spool(chunks: SpoolChunks) -> Self {
        let left = chunks.length();
        Self {
            chunks: chunks.into_stream().boxed(),
            remaining_bytes: left,
        }
    }

    /// Replaces every byte `from` with `to`.
    #[must_use]
    pub(in crate::provider) fn replace_byte(self, from: u8, to: u8) -> Self {
        let replaced = move |piece: io::Result<Bytes>| {
            let mut bytes = Vec::from(piece?);
            bytes
                .iter_mut()
                .filter(|byte| **byte == from)
                .for_each(|byte| *byte = to);
            Ok(Bytes::from(bytes))
        };
        Self {
            chunks: self.chunks.map(replaced).boxed(),
            remaining_bytes: self.remaining_bytes,
        }
    }

    #[must_use]
    pub(in crate::provider) fn chain(self, next: Self) -> Self {
        Self {
            remaining_bytes: self.remaining_bytes + next.remaining_bytes,
            chunks: self.chunks.chain(next.chunks).boxed(),
        }
    }
}

impl Body for ProviderRequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.chunks.poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &piece {
            self.remaining_bytes = self.remaining_bytes.saturating_sub(bytes.len() as u64);
        }
        piece.map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.remaining_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes)
    }
}

impl fmt::Debug for ProviderRequestBody {
    /// Without the content, which may hold prompts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProviderRequestBody({} bytes)", self.remaining_bytes)
    }
}
