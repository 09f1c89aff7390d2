//! The listen tunnel: an attempt is handed over to a program that listens under a name.
//!
//! The attempt is an ordinary one: it has a slot, a timeout, a record and retries. Only its way to
//! the receiver differs. The worker writes a row, a serving process sends it to the listener and
//! stores the answer, and the worker reads the row until it is answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::callback_signature::SignatureHeaders;
use domain::id::{CargoId, HandoverId, ProjectId};
use domain::listener_name::ListenerName;
use domain::trace_context::TraceContext;
use outbound::callback::{CallbackAttempt, callback_headers, timeout_error};
use store::Shard;
use store::shard::handover::{self, HandoverAnswer, HandoverHeaders, HandoverState, NewHandover};
use tokio::time::{Instant, sleep, timeout_at};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After a query that failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const CALLBACKS_TOTAL: &str = "longshore_listener_callbacks_total";

#[derive(Debug)]
pub(super) struct ListenTunnel {
    shard: Arc<Shard>,
    /// For the whole attempt, as for any other callback.
    timeout: Duration,
}

/// A callback for a listener.
#[derive(Debug)]
pub(super) struct TunnelCallback<'a> {
    pub(super) listener: &'a ListenerName,
    pub(super) project: ProjectId,
    pub(super) cargo: CargoId,
    pub(super) number: u32,
    pub(super) payload: Bytes,
    pub(super) signature: Option<&'a SignatureHeaders>,
    pub(super) trace: Option<TraceContext>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum TunnelFailure {
    #[error("no program listens as {0}: start longshore listen --as {0}")]
    NoListener(ListenerName),
    #[error("the listener {0} disconnected before the callback was sent to it")]
    Disconnected(ListenerName),
    #[error("not sent: the callback could not be stored for the listener")]
    NotStored,
}

impl ListenTunnel {
    pub(super) const fn new(shard: Arc<Shard>, timeout: Duration) -> Self {
        Self { shard, timeout }
    }

    /// Hands the callback over and waits for its answer. The attempt records the result or the
    /// error.
    pub(super) async fn hand_over(&self, callback: &TunnelCallback<'_>) -> CallbackAttempt {
        let started = Instant::now();
        let id = HandoverId::new(
            self.shard.clock.now(),
            callback.project.berth(),
            rand::random(),
        );
        let exchange = self.exchange(id, callback);
        let ended = timeout_at(started + self.timeout, exchange).await;
        let elapsed = started.elapsed();
        let (outcome, attempt) = match ended {
            Ok(Ok(answer)) => ("answered", attempt_of(answer, elapsed)),
            Ok(Err(failure)) => {
                let error = failure.to_string();
                (failure.label(), failed_attempt(error, elapsed))
            }
            Err(_) => {
                let error = timeout_error(self.timeout);
                ("timed_out", failed_attempt(error, elapsed))
            }
        };
        metrics::counter!(CALLBACKS_TOTAL, "outcome" => outcome).increment(1);
        // Otherwise sweep deletes it.
        if let Err(failure) = handover::delete(&self.shard, id).await {
            tracing::warn!(shard = %self.shard.name, failure = failure.diagnosis(), "an ended handover could not be deleted; sweep deletes it");
        }
        attempt
    }

    async fn exchange(
        &self,
        id: HandoverId,
        callback: &TunnelCallback<'_>,
    ) -> Result<HandoverAnswer, TunnelFailure> {
        let new = NewHandover {
            id,
            project: callback.project,
            listener: callback.listener,
            cargo: callback.cargo,
            number: callback.number,
            headers: stored_headers(callback.signature, callback.trace),
            body: &callback.payload,
        };
        match handover::create(&self.shard, &new).await {
            Ok(true) => {}
            Ok(false) => return Err(TunnelFailure::NoListener(callback.listener.clone())),
            Err(failure) => {
                tracing::warn!(shard = %self.shard.name, cargo.id = %callback.cargo, failure = failure.diagnosis(), "a callback could not be stored for its listener");
                return Err(TunnelFailure::NotStored);
            }
        }
        loop {
            sleep(POLL_INTERVAL).await;
            match handover::find(&self.shard, callback.project, id).await {
                Ok(HandoverState::Answered(answer)) => return Ok(answer),
                Ok(HandoverState::Queued | HandoverState::Taken) => {}
                Ok(HandoverState::Lost) => {
                    return Err(TunnelFailure::Disconnected(callback.listener.clone()));
                }
                // The listener may have it: its answer can be read until the timeout.
                Err(failure) => {
                    tracing::warn!(shard = %self.shard.name, failure = failure.diagnosis(), "a handover could not be read and is read again");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }
}

impl TunnelFailure {
    const fn label(&self) -> &'static str {
        match self {
            Self::NoListener(_) => "no_listener",
            Self::Disconnected(_) => "disconnected",
            Self::NotStored => "not_stored",
        }
    }
}

fn stored_headers(
    signature: Option<&SignatureHeaders>,
    trace: Option<TraceContext>,
) -> HandoverHeaders {
    let mut stored = HandoverHeaders::default();
    for (name, value) in &callback_headers(signature, trace) {
        if let Ok(value) = value.to_str() {
            stored.names.push(name.to_string());
            stored.values.push(value.to_owned());
        }
    }
    stored
}

/// The listener measures how long the receiver took, but cannot claim more than the whole attempt.
fn attempt_of(answer: HandoverAnswer, elapsed: Duration) -> CallbackAttempt {
    CallbackAttempt {
        status: answer.status,
        error: answer.error,
        latency: answer.latency.unwrap_or(elapsed).min(elapsed),
        response_excerpt: answer.excerpt.into(),
    }
}

fn failed_attempt(error: String, elapsed: Duration) -> CallbackAttempt {
    CallbackAttempt {
        error: Some(error),
        latency: elapsed,
        ..CallbackAttempt::default()
    }
}
