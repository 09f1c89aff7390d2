//! What a connection is doing, and until when it may.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::options::Options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No byte of the next request has come.
    Idle,
    ReceivingHead,
    ReceivingBody {
        is_answered: bool,
    },
    Answering,
}

/// One connection as its socket, its bodies and the table of all connections see it.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when it is idle, or since when the request comes.
    since: Instant,
    write_blocked_since: Option<Instant>,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            phase: Phase::Idle,
            since: Instant::now(),
            write_blocked_since: None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_came(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Idle {
            state.phase = Phase::ReceivingHead;
            state.since = Instant::now();
        }
    }

    fn bytes_left(&self, is_blocked: bool) {
        let mut state = self.lock();
        if !is_blocked {
            state.write_blocked_since = None;
        } else if state.write_blocked_since.is_none() {
            state.write_blocked_since = Some(Instant::now());
        }
    }

    /// The head of a request is complete; returns when its first byte came.
    pub(super) fn head_received(&self, has_body: bool) -> Instant {
        let mut state = self.lock();
        // Its bytes may have come with those of the request before.
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
        let mut state = self.lock();
        match state.phase {
            Phase::ReceivingBody { is_answered: false } => state.phase = Phase::Answering,
            Phase::ReceivingBody { is_answered: true } => state.rest(),
            Phase::Idle | Phase::ReceivingHead | Phase::Answering => {}
        }
    }

    pub(super) fn answered(&self) {
        let mut state = self.lock();
        match state.phase {
            Phase::Answering => state.rest(),
            Phase::ReceivingBody { .. } => {
                state.phase = Phase::ReceivingBody { is_answered: true };
            }
            Phase::Idle | Phase::ReceivingHead => {}
        }
    }

    /// When the connection is to be closed. A body has a deadline of its own.
    pub(super) fn deadline(&self, options: &Options) -> Option<Instant> {
        let state = self.lock();
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

    /// Whether it may be closed for others: first those that are idle, then those whose request
    /// is not there yet. Smaller goes first.
    pub(super) fn shed_order(&self) -> Option<(ShedClass, Instant)> {
        let state = self.lock();
        if state.write_blocked_since.is_some() {
            return None;
        }
        match state.phase {
            Phase::Idle => Some((ShedClass::Idle, state.since)),
            Phase::ReceivingHead | Phase::ReceivingBody { .. } => {
                Some((ShedClass::HalfOpen, state.since))
            }
            Phase::Answering => None,
        }
    }
}

impl State {
    fn rest(&mut self) {
        self.phase = Phase::Idle;
        self.since = Instant::now();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShedClass {
    Idle,
    HalfOpen,
}

/// A socket that notes when bytes come, and when they do not leave.
#[derive(Debug)]
pub(super) struct WatchedStream {
    pub(super) stream: TcpStream,
    pub(super) activity: Arc<Activity>,
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
            self.activity.bytes_came();
        }
        read
    }
}

impl WatchedStream {
    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        self.activity.bytes_left(written.is_pending());
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
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.note(written)
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
