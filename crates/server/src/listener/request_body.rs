//! A request body with a deadline and a shared byte budget, always read to its end.
//!
//! Hyper closes a connection whose body is not read to its end, without `connection: close` in the
//! response, and a caller would lose its next request. So the rest of a dropped body is read and
//! discarded.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use domain::streamed_body::StreamedBodyFlag;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use super::activity::ConnectionActivity;

/// The part of a dropped body that is read at most. A connection with a longer one is closed.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
/// A body that arrives at least this fast never times out.
const MIN_BYTES_PER_SECOND: u64 = 64 << 10;
/// The first bytes of every body do not count, so that slow large bodies never block small ones.
/// The connection limit bounds their sum.
const UNBUDGETED_BYTES: usize = 16 << 10;

/// The budget for the bytes of all bodies that are being received.
#[derive(Debug)]
pub(super) struct BodyBudget {
    max: usize,
    used: AtomicUsize,
}

impl BodyBudget {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            max,
            used: AtomicUsize::new(0),
        }
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }
}

/// What a body has to keep to.
#[derive(Debug)]
pub(super) struct BodyRules {
    pub(super) budget: Arc<BodyBudget>,
    /// Without the extra time for large bodies.
    pub(super) deadline: Instant,
    /// How long the route may wait for the next bytes.
    pub(super) idle_timeout: Duration,
    /// Set if the route stores the body while it arrives.
    pub(super) streamed: StreamedBodyFlag,
}

/// Fails with `TimedOut` when it arrives too slowly, and with `QuotaExceeded` when the budget is
/// used up.
#[derive(Debug)]
pub(super) struct RequestBody {
    incoming: Option<Incoming>,
    activity: Arc<ConnectionActivity>,
    rules: BodyRules,
    received: usize,
    taken: usize,
    /// Since when the route waits for bytes.
    waiting_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(super) fn new(
        incoming: Incoming,
        activity: Arc<ConnectionActivity>,
        rules: BodyRules,
    ) -> Self {
        Self {
            incoming: Some(incoming),
            activity,
            rules,
            received: 0,
            taken: 0,
            waiting_since: None,
            timer: None,
        }
    }

    fn count(&mut self, bytes: usize) -> io::Result<()> {
        self.received += bytes;
        // A route that stores the body has stored the pieces before this one.
        let in_memory = if self.rules.streamed.is_set() {
            bytes
        } else {
            self.received
        };
        let counted = in_memory.saturating_sub(UNBUDGETED_BYTES);
        let more = counted.saturating_sub(self.taken);
        if !self.rules.budget.take(more) {
            metrics::counter!("longshore_http_request_bodies_over_budget_total").increment(1);
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.rules
            .budget
            .give_back(self.taken.saturating_sub(counted));
        self.taken = counted;
        Ok(())
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let seconds = self.received as u64 / MIN_BYTES_PER_SECOND;
        let waiting_since = *self.waiting_since.get_or_insert_with(Instant::now);
        let deadline = self.rules.deadline + Duration::from_secs(seconds);
        // A body that came fast has a late deadline, but it may not stand still until then.
        let deadline = deadline.min(waiting_since + self.rules.idle_timeout);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.rules.budget.give_back(self.taken);
        let Some(incoming) = self.incoming.take() else {
            return;
        };
        if incoming.is_end_stream() {
            self.activity.body_received();
        } else {
            let (activity, deadline) = (Arc::clone(&self.activity), self.rules.deadline);
            tokio::spawn(async move {
                let _late = timeout_at(deadline, discard_rest(incoming)).await;
                activity.body_received();
            });
        }
    }
}

async fn discard_rest(mut incoming: Incoming) {
    let mut length = 0;
    while let Some(Ok(frame)) = incoming.frame().await
        && length <= MAX_DISCARDED_BYTES
    {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(incoming) = &mut self.incoming else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(&mut *incoming).poll_frame(cx);
        if incoming.is_end_stream() {
            self.activity.body_received();
        }
        if frame.is_ready() {
            self.waiting_since = None;
        }
        match frame {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(self.count(length).map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(io::Error::other(error)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.poll_deadline(cx).map(|()| {
                // The rest is not read: the connection closes with the response.
                self.incoming = None;
                metrics::counter!("longshore_http_request_bodies_timed_out_total").increment(1);
                Some(Err(io::ErrorKind::TimedOut.into()))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}
