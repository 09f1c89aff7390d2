//! The line to Redis: one call at a time, each within its budget, and a breaker.
//!
//! The first call that fails or takes too long cuts the line. From then on
//! nobody waits for Redis until a probe has found that it answers quickly again.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use outbound::counters::{Asks, Counters, CountersFailure, Grants};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

use crate::limits::status::Status;

/// How often a cut line is tried.
const TRY_EVERY: Duration = Duration::from_millis(250);
/// How long a new connection may take, which is more than a call: names and certificates.
const CONNECTING: Duration = Duration::from_secs(1);
/// What the first connection may take, for asks wait behind it.
const FIRST: Duration = Duration::from_millis(250);
/// Turns that others have before a call is given up: the socket's, its reader's, one to spare.
const TURNS: u32 = 3;

#[derive(Debug)]
pub(super) struct Line {
    counters: Arc<Counters>,
    budget: Duration,
    status: Arc<Status>,
    is_cut: bool,
    /// Whether there was a call since the last look.
    is_used: bool,
    /// Calls that took too long, and the probe of a cut line.
    beside: JoinSet<Event>,
}

/// What becomes known beside the calls.
#[derive(Debug)]
pub(super) enum Event {
    /// Redis answers again.
    Back,
    /// What became of a call that was given up.
    Late(Arc<Asks>, Option<Grants>),
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Called {
    Answered(Grants),
    /// It was not heard.
    Failed,
    /// It may be heard yet: an event will tell.
    GivenUp,
}

impl Line {
    pub(super) fn new(counters: Counters, budget: Duration, status: Arc<Status>) -> Self {
        Self {
            counters: Arc::new(counters),
            budget,
            status,
            is_cut: false,
            is_used: false,
            beside: JoinSet::new(),
        }
    }

    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) async fn connect(&mut self) {
        self.rehearse(FIRST.max(self.budget)).await;
    }

    /// A quiet line is tried, so that it is known to be cut before somebody waits for it.
    pub(super) async fn look(&mut self) {
        if !self.is_cut && !std::mem::take(&mut self.is_used) {
            self.rehearse(self.budget).await;
        }
    }

    pub(super) async fn call(&mut self, asks: Arc<Asks>) -> Called {
        metrics::counter!("limiter_calls_total").increment(1);
        self.is_used = true;
        let (counters, asked) = (Arc::clone(&self.counters), Instant::now());
        let question = Arc::clone(&asks);
        let mut calling = Box::pin(async move { counters.ask(&question).await });
        match within(self.budget, calling.as_mut()).await {
            Some(Ok(grants)) => {
                let latency = asked.elapsed();
                metrics::histogram!("limiter_call_seconds").record(latency);
                self.status.answered(latency);
                Called::Answered(grants)
            }
            Some(Err(failure)) => {
                self.cut(Some(&failure));
                Called::Failed
            }
            None => {
                self.beside
                    .spawn(async move { Event::Late(asks, calling.await.ok()) });
                self.cut(None);
                Called::GivenUp
            }
        }
    }

    /// Waits for the next event; for ever while there can be none.
    pub(super) async fn event(&mut self) -> Event {
        loop {
            match self.beside.join_next().await {
                Some(Ok(Event::Back)) => {
                    self.is_cut = false;
                    self.status.came_back();
                    tracing::info!("redis answers again");
                    return Event::Back;
                }
                Some(Ok(late)) => return late,
                // One that panicked has nothing to tell.
                Some(Err(_)) => {}
                None => return std::future::pending().await,
            }
        }
    }

    async fn rehearse(&mut self, patience: Duration) {
        let asked = Instant::now();
        let counters = Arc::clone(&self.counters);
        match within(patience, pin!(counters.rehearse())).await {
            Some(Ok(())) => self.status.answered(asked.elapsed()),
            Some(Err(failure)) => self.cut(Some(&failure)),
            None => self.cut(None),
        }
    }

    fn cut(&mut self, failure: Option<&CountersFailure>) {
        self.is_cut = true;
        self.status.went_away();
        if let Some(failure) = failure {
            let error = failure as &dyn std::error::Error;
            tracing::warn!(error, "redis is away; this process limits by itself");
        } else {
            let milliseconds = self.budget.as_millis();
            tracing::warn!(
                milliseconds,
                "redis is away: it took longer than its budget; this process limits by itself"
            );
        }
        let (counters, budget) = (Arc::clone(&self.counters), self.budget);
        self.beside.spawn(async move {
            probe(&counters, budget).await;
            Event::Back
        });
    }
}

/// What comes of a call within its budget.
///
/// Should this process itself have been held up, the answer may lie there unread when the
/// time is over: others that are ready have their turn before it is given up.
async fn within<T>(
    budget: Duration,
    mut calling: Pin<&mut (impl Future<Output = T> + ?Sized)>,
) -> Option<T> {
    if let Ok(answer) = timeout(budget, calling.as_mut()).await {
        return Some(answer);
    }
    for _ in 0..TURNS {
        yield_now().await;
        if let Poll::Ready(answer) =
            poll_fn(|context| Poll::Ready(calling.as_mut().poll(context))).await
        {
            return Some(answer);
        }
    }
    None
}

/// Returns when Redis answers on a new connection, and within the budget.
async fn probe(counters: &Counters, budget: Duration) {
    loop {
        counters.disconnect();
        sleep(TRY_EVERY).await;
        let connected = timeout(CONNECTING.max(budget), counters.rehearse()).await;
        if matches!(connected, Ok(Ok(())))
            && matches!(timeout(budget, counters.rehearse()).await, Ok(Ok(())))
        {
            return;
        }
    }
}
