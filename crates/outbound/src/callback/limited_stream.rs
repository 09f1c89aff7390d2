//! One connection to a receiver, plain or TLS, with a limit on the bytes read per response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::failure::ResponseTooLong;
use crate::connection::MaybeTlsStream;

/// Bytes read for one response: head, body and read-ahead.
///
/// The limits of head and body do not count interim responses and framing; this one does.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;

#[derive(Debug)]
pub(super) struct LimitedStream {
    inner: MaybeTlsStream,
    bytes_read: usize,
    _open: OpenConnection,
}

/// Counts as one open connection until it is dropped.
#[derive(Debug)]
struct OpenConnection(Arc<AtomicUsize>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LimitedStream {
    pub(super) fn new(wire: MaybeTlsStream, open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self {
            inner: wire,
            bytes_read: 0,
            _open: OpenConnection(Arc::clone(open)),
        }
    }
}

impl Connection for LimitedStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.bytes_read > MAX_RESPONSE_BYTES {
            return Poll::Ready(Err(io::Error::other(ResponseTooLong)));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        self.bytes_read += buf.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        // The client writes only after the previous response ended.
        self.bytes_read = 0;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.bytes_read = 0;
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
