//! What a connection is doing, and its deadline.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use domain::authentication_flag::AuthenticationFlag;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::options::Options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No byte of the next request has arrived.
    Idle,
    ReceivingHead,
    ReceivingBody {
        is_answered: bool,
    },
    Answering,
}

/// The state of one connection, shared by its socket, its bodies and the connection table.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    state: Mutex<ActivityState>,
    pub(super) authentication: AuthenticationFlag,
}

#[derive(Debug)]
struct ActivityState {
    phase: Phase,
    /// When the connection became idle, or when the request began to arrive.
    since: Instant,
    write_blocked_since: Option<Instant>,
}

impl ConnectionActivity {
    pub(super) fn new() -> Self {
        let state = ActivityState {
            phase: Phase::Idle,
            since: Instant::now(),
            write_blocked_since: None,
        };
        Self {
            state: Mutex::new(state),
            authentication: AuthenticationFlag::default(),
        }
    }

    /// As if its phase had begun earlier.
    #[cfg(test)]
    pub(super) fn make_older(&self, by: std::time::Duration) {
        self.state.lock().since -= by;
    }

    fn bytes_received(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Idle {
            state.phase = Phase::ReceivingHead;
            state.since = Instant::now();
        }
    }

    fn bytes_written(&self, is_blocked: bool) {
        let mut state = self.state.lock();
        if !is_blocked {
            state.write_blocked_since = None;
        } else if state.write_blocked_since.is_none() {
            state.write_blocked_since = Some(Instant::now());
        }
    }

    /// The head of a request is complete; returns when its first byte arrived.
    pub(super) fn head_received(&self, has_body: bool) -> Instant {
        let mut state = self.state.lock();
        // Its bytes may have arrived together with the previous request.
        if state.phase != Phase::ReceivingHead {
            state.since = Instant::now();
        }
        state.phase = if has_body {
            Phase::ReceivingBody { is_answered: false }
        } else {
            Phase::Answering
        };
        state.since
    }

    pub(super) fn body_received(&self) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::ReceivingBody { is_answered: false } => state.phase = Phase::Answering,
            Phase::ReceivingBody { is_answered: true } => state.become_idle(),
            Phase::Idle | Phase::ReceivingHead | Phase::Answering => {}
        }
    }

    pub(super) fn answered(&self) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Answering => state.become_idle(),
            Phase::ReceivingBody { .. } => {
                state.phase = Phase::ReceivingBody { is_answered: true };
            }
            Phase::Idle | Phase::ReceivingHead => {}
        }
    }

    /// When the connection has to be closed. A request body has a separate deadline.
    pub(super) fn deadline(&self, options: &Options) -> Option<Instant> {
        let state = self.state.lock();
        let of_phase = match state.phase {
            Phase::Idle => Some(state.since + options.idle_timeout),
            Phase::ReceivingHead => Some(state.since + options.request_timeout),
            Phase::ReceivingBody { .. } | Phase::Answering => None,
        };
        let of_write = state
            .write_blocked_since
            .map(|it| it + options.write_timeout);
        [of_phase, of_write].into_iter().flatten().min()
    }

    /// Whether the connection may be closed to make room. The smallest value is closed first.
    pub(super) fn shed_order(&self) -> Option<ShedOrder> {
        let is_authenticated = self.authentication.is_set();
        let state = self.state.lock();
        let order = |class| ShedOrder {
            is_authenticated,
            class,
            since: state.since,
        };
        if state.write_blocked_since.is_some() {
            // Slow readers without a key must not hold every connection.
            return (!is_authenticated).then(|| order(ShedClass::Unread));
        }
        match state.phase {
            Phase::Idle => Some(order(ShedClass::Idle)),
            Phase::ReceivingHead | Phase::ReceivingBody { .. } => Some(order(ShedClass::HalfOpen)),
            Phase::Answering => None,
        }
    }
}

impl ActivityState {
    fn become_idle(&mut self) {
        self.phase = Phase::Idle;
        self.since = Instant::now();
    }
}

/// Connections without an authenticated request come first, whatever they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShedOrder {
    pub(super) is_authenticated: bool,
    pub(super) class: ShedClass,
    pub(super) since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShedClass {
    Idle,
    /// A part of a request has arrived.
    HalfOpen,
    /// The client does not read its response.
    Unread,
}

/// A socket that records when bytes arrive and when writes block.
#[derive(Debug)]
pub(super) struct WatchedStream {
    pub(super) stream: TcpStream,
    pub(super) activity: Arc<ConnectionActivity>,
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.bytes_received();
        }
        read
    }
}

impl WatchedStream {
    fn record_write<T>(&self, written: Poll<T>) -> Poll<T> {
        self.activity.bytes_written(written.is_pending());
        written
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.record_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.record_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
