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

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }
}

/// Fails with `TimedOut` when it arrives too slowly, and with `QuotaExceeded` when the budget is
/// used up.
#[derive(Debug)]
pub(super) struct RequestBody {
    incoming: Option<Incoming>,
    activity: Arc<ConnectionActivity>,
    budget: Arc<BodyBudget>,
    /// Without the extra time for large bodies.
    deadline: Instant,
    received: usize,
    taken: usize,
    timer: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(super) fn new(
        incoming: Incoming,
        activity: Arc<ConnectionActivity>,
        budget: Arc<BodyBudget>,
        deadline: Instant,
    ) -> Self {
        Self {
            incoming: Some(incoming),
            activity,
            budget,
            deadline,
            received: 0,
            taken: 0,
            timer: None,
        }
    }

    fn count(&mut self, bytes: usize) -> io::Result<()> {
        self.received += bytes;
        let more = self.received.saturating_sub(UNBUDGETED_BYTES) - self.taken;
        if !self.budget.take(more) {
            metrics::counter!("longshore_http_request_bodies_over_budget_total").increment(1);
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.taken += more;
        Ok(())
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let seconds = self.received as u64 / MIN_BYTES_PER_SECOND;
        let deadline = self.deadline + Duration::from_secs(seconds);
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
        self.budget.used.fetch_sub(self.taken, Ordering::Relaxed);
        let Some(incoming) = self.incoming.take() else {
            return;
        };
        if incoming.is_end_stream() {
            self.activity.body_received();
        } else {
            let (activity, deadline) = (Arc::clone(&self.activity), self.deadline);
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
