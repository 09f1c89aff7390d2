//! Records ended attempts in groups. Splits a group until a row that cannot be written is alone.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::cargo_spans::{TracedDelivery, delivery_span};
use domain::id;
use domain::retry_schedule::DeliveryRetryDecision;
use domain::span::{Span, SpanTimes};
use domain::time::Timestamp;
use outbound::callback::CallbackAttempt;
use store::shard::attempt::{self, AttemptResult, EndedAttempt, FallbackResult};
use store::shard::node::Claim;

use super::DeliverStage;
use super::send::{AttemptEnd, FinishedCallback};

/// How many attempts one transaction records.
const MAX_ATTEMPTS_PER_TRANSACTION: usize = 1000;
/// Fewer attempts wait for others while some are in flight, but not longer than this.
const MIN_ATTEMPTS_PER_TRANSACTION: usize = 64;
const MAX_RECORD_DELAY: Duration = Duration::from_millis(10);

impl DeliverStage {
    /// Takes over the attempts that have ended, and records them. Returns how many have ended.
    pub(super) async fn record_finished(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let ended = self.collect_finished(now);
        Ok(ended.max(self.record_collected(now).await?))
    }

    /// As `record_finished`, but a few attempts wait a little for others: a transaction costs as
    /// much as several attempts.
    pub(super) async fn record_in_groups(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let ended = self.collect_finished(now);
        if self.should_wait_for_others() {
            return Ok(ended);
        }
        Ok(ended.max(self.record_collected(now).await?))
    }

    fn should_wait_for_others(&mut self) -> bool {
        let count = self.unrecorded.len();
        if count == 0 || count >= MIN_ATTEMPTS_PER_TRANSACTION || self.sender.is_idle() {
            return false;
        }
        let Some(since) = self.unrecorded_since else {
            self.unrecorded_since = Some(Instant::now());
            self.sender.wake_after(MAX_RECORD_DELAY);
            return true;
        };
        since.elapsed() < MAX_RECORD_DELAY
    }

    /// Frees the slots of ended attempts; returns how many there are.
    fn collect_finished(&mut self, now: Timestamp) -> usize {
        let claim = self.lease.claim();
        self.drop_unrecorded_of_lost_lease(claim);
        let mut ended = 0;
        while self.unrecorded.len() < MAX_ATTEMPTS_PER_TRANSACTION
            && let Some(finished) = self.sender.next_finished()
        {
            ended += 1;
            let (to, bytes) = (&finished.destination, finished.bytes);
            self.slots.release(to, bytes, finished.host_answer(), now);
            self.keep_unrecorded(finished, claim, now);
        }
        ended
    }

    /// Records what was collected; returns how many attempts.
    async fn record_collected(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        self.unrecorded_since = None;
        let group = std::mem::take(&mut self.unrecorded);
        let count = group.len();
        if count > 0 {
            self.record_split(self.unrecorded_claim, group, now).await?;
        }
        Ok(count)
    }

    /// Keeps an attempt until it is recorded: a POST must not be repeated.
    fn keep_unrecorded(&mut self, finished: FinishedCallback, claim: Claim, now: Timestamp) {
        let FinishedCallback {
            cargo,
            group,
            project,
            number,
            is_resend,
            started_at,
            end,
            trace,
            ..
        } = finished;
        let attempt = match end {
            AttemptEnd::Posted(attempt) if finished.claim == claim => attempt,
            AttemptEnd::NotSent(reason) if finished.claim == claim => CallbackAttempt {
                error: Some(reason.to_owned()),
                ..CallbackAttempt::default()
            },
            // This node lost the claim: another worker makes the attempt.
            AttemptEnd::Posted(_) | AttemptEnd::NotSent(_) | AttemptEnd::LeaseLost => {
                metrics::counter!("longshore_callback_claims_lost_total").increment(1);
                self.slots.forget([cargo]);
                return;
            }
        };
        let is_success = attempt.is_success();
        let outcome = if is_success { "delivered" } else { "failed" };
        metrics::counter!("longshore_callback_attempts_total", "outcome" => outcome).increment(1);
        metrics::histogram!("longshore_callback_duration_seconds")
            .record(attempt.latency.as_secs_f64());
        let verdict = match (is_resend, is_success) {
            (false, true) => AttemptResult::Delivered,
            (true, true) => AttemptResult::Redelivered,
            (true, false) => AttemptResult::ResendFailed,
            // The delay counts from the recorded end of the attempt: a retry is never early.
            (false, false) => match self.retry_schedule.after_failure(number, now) {
                DeliveryRetryDecision::Retry { at } => AttemptResult::Retry { due_at: at },
                DeliveryRetryDecision::GiveUp => AttemptResult::Failed,
            },
        };
        self.unrecorded_claim = claim;
        self.unrecorded.push(EndedAttempt {
            cargo,
            group,
            project,
            number,
            started_at,
            ended_at: now,
            duration: attempt.latency,
            status: attempt.status,
            error: attempt.error,
            answer: attempt.response_excerpt.to_vec(),
            result: verdict,
            trace,
        });
    }

    fn drop_unrecorded_of_lost_lease(&mut self, claim: Claim) {
        if self.unrecorded.is_empty() || self.unrecorded_claim == claim {
            return;
        }
        let lost = std::mem::take(&mut self.unrecorded);
        let count = u64::try_from(lost.len()).unwrap_or_default();
        metrics::counter!("longshore_callback_claims_lost_total").increment(count);
        self.slots.forget(lost.iter().map(|ended| ended.cargo));
    }

    /// Splits a group that fails until the bad attempt is alone. The others are recorded.
    async fn record_split(
        &mut self,
        claim: Claim,
        group: Vec<EndedAttempt>,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let mut groups = vec![group];
        while let Some(mut group) = groups.pop() {
            let recorded = match attempt::record(&self.shard, claim, &group, now).await {
                Ok(_) => {
                    count_ended(&group);
                    self.trace_attempts(&group);
                    Ok(())
                }
                Err(failure) if failure.is_unavailable() => Err(failure),
                Err(failure) => {
                    if let [alone] = group.as_slice() {
                        self.record_with_fallback(claim, alone, &failure, now).await
                    } else {
                        let rest = group.split_off(group.len() / 2);
                        groups.extend([rest, group]);
                        continue;
                    }
                }
            };
            if let Err(failure) = recorded {
                self.unrecorded = groups.into_iter().flatten().chain(group).collect();
                return Err(failure);
            }
            self.slots.forget(group.iter().map(|ended| ended.cargo));
        }
        Ok(())
    }

    fn trace_attempts(&self, group: &[EndedAttempt]) {
        if let Some(tracer) = &self.tracer {
            tracer.record(group.iter().filter_map(attempt_span));
        }
    }

    async fn record_with_fallback(
        &self,
        claim: Claim,
        ended: &EndedAttempt,
        cause: &store::Error,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let (shard, cargo) = (&self.shard, ended.cargo);
        let result = match attempt::record_with_fallback(shard, claim, ended, now).await {
            Ok(FallbackResult::WithoutLog) => "recorded without its attempt",
            Ok(FallbackResult::Failed) => "recorded as failed",
            Ok(FallbackResult::Postponed) => "postponed",
            Err(failure) if failure.is_unavailable() => return Err(failure),
            // Nothing can be written. `LostClaims` frees the claim.
            Err(_) => {
                self.slots.mark_claims_in_doubt();
                "left to be freed"
            }
        };
        let trace_id = ended.trace.map(|it| tracing::field::display(it.trace));
        tracing::error!(shard = %shard.name, cargo.id = %cargo, trace_id, result, failure = cause.diagnosis(), "a callback attempt could not be recorded as it was");
        metrics::counter!("longshore_callback_attempt_errors_total", "reason" => "not_recorded")
            .increment(1);
        Ok(())
    }
}

fn attempt_span(ended: &EndedAttempt) -> Option<Span> {
    let delivery = TracedDelivery {
        context: ended.trace?,
        cargo: ended.cargo,
        project: ended.project,
        number: ended.number,
        status: ended.status,
        error: ended.error.as_deref(),
    };
    let duration = TimeDelta::from_std(ended.duration).unwrap_or_default();
    let times = SpanTimes {
        started_at: ended.started_at,
        ended_at: ended.started_at + duration,
    };
    Some(delivery_span(&delivery, times))
}

/// Counts callbacks that ended. A resend ends none: its callback ended before.
fn count_ended(group: &[EndedAttempt]) {
    for ended in group {
        let outcome = match ended.result {
            AttemptResult::Delivered => "delivered",
            AttemptResult::Failed => "failed",
            AttemptResult::Retry { .. }
            | AttemptResult::Redelivered
            | AttemptResult::ResendFailed => continue,
        };
        metrics::counter!("longshore_callbacks_ended_total", "outcome" => outcome).increment(1);
        if ended.result == AttemptResult::Delivered && ended.group.is_none() {
            let since_load = ended.ended_at - id::timestamp_of(ended.cargo.uuid());
            metrics::histogram!("longshore_cargo_callback_seconds")
                .record(since_load.as_seconds_f64().max(0.0));
        }
    }
}
