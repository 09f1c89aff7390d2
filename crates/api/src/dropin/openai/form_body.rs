//! The body of an upload, so that little of it is in memory.
//!
//! The parser of forms buffers all that comes before a field: text before the first boundary, and
//! the headers of a field. It also takes all chunks that are ready before it parses the first.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures::Stream;

/// Bytes after which a field has to begin, or the form has to end.
const MAX_BYTES_BETWEEN_FIELDS: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "more than {} bytes are in no field of the form",
    MAX_BYTES_BETWEEN_FIELDS
)]
pub(crate) struct FormOverhead;

/// Whether the bytes that arrive belong to a field.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldGate {
    state: Arc<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    is_open: AtomicBool,
    between: AtomicUsize,
}

impl FieldGate {
    /// A field begins: its reader takes the bytes.
    pub(crate) fn open(&self) {
        self.state.is_open.store(true, Ordering::Relaxed);
        self.state.between.store(0, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.state.is_open.store(false, Ordering::Relaxed);
    }

    /// A chunk may have the end of a header and much of its field, so only the chunks before it
    /// count.
    fn admit(&self, bytes: usize) -> Result<(), FormOverhead> {
        if self.state.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        let before = self.state.between.fetch_add(bytes, Ordering::Relaxed);
        if before > MAX_BYTES_BETWEEN_FIELDS {
            return Err(FormOverhead);
        }
        Ok(())
    }
}

/// The chunks of a form.
#[derive(Debug)]
pub(crate) struct FormBody {
    body: BodyDataStream,
    gate: FieldGate,
    /// The parser has the last chunk and has not looked at it yet.
    has_yielded: bool,
}

impl FormBody {
    pub(crate) const fn new(body: BodyDataStream, gate: FieldGate) -> Self {
        Self {
            body,
            gate,
            has_yielded: false,
        }
    }
}

impl Stream for FormBody {
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_yielded {
            self.has_yielded = false;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(chunk) = Pin::new(&mut self.body).poll_next(cx) else {
            return Poll::Pending;
        };
        self.has_yielded = chunk.is_some();
        Poll::Ready(chunk.map(|chunk| -> Self::Item {
            let chunk = chunk?;
            self.gate.admit(chunk.len())?;
            Ok(chunk)
        }))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures::stream;
    use multer::Multipart;

    use super::*;

    /// The bytes of all fields, of a form that arrives in small pieces.
    async fn read(form: String) -> Result<usize, String> {
        let pieces: Vec<_> = form
            .into_bytes()
            .chunks(4 << 10)
            .map(<[u8]>::to_vec)
            .collect();
        let pieces = pieces.into_iter().map(Ok::<_, std::io::Error>);
        let body = Body::from_stream(stream::iter(pieces)).into_data_stream();
        let gate = FieldGate::default();
        let mut form = Multipart::new(FormBody::new(body, gate.clone()), "b");
        let mut length = 0;
        while let Some(mut field) = form.next_field().await.map_err(|error| describe(&error))? {
            gate.open();
            while let Some(chunk) = field.chunk().await.map_err(|error| describe(&error))? {
                length += chunk.len();
            }
            gate.close();
        }
        Ok(length)
    }

    fn describe(error: &multer::Error) -> String {
        error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string)
    }

    fn field(headers: &str, content: &str) -> String {
        let disposition = "Content-Disposition: form-data; name=\"file\"";
        format!("--b\r\n{disposition}\r\n{headers}\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn fields_may_be_large() {
        let large = "x".repeat(1 << 20);
        let form = field("", &large) + &field("", &large) + "--b--\r\n";
        assert_eq!(read(form).await, Ok(2 << 20));
    }

    #[tokio::test]
    async fn text_before_fields_may_not() {
        let large = "x".repeat(1 << 20);
        let refused = Err(FormOverhead.to_string());
        let before = format!("{large}\r\n{}--b--\r\n", field("", "a"));
        assert_eq!(read(before).await, refused);
        let header = field(&format!("X-Large: {large}\r\n"), "a") + "--b--\r\n";
        assert_eq!(read(header).await, refused);
    }
}
