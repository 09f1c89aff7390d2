//! What became of attempts, written in groups. A row that cannot be written stands alone in the end.

use domain::delivery::Next;
use domain::time::Timestamp;
use outbound::callback::Attempt;
use store::shard::attempt::{self, Ended, SetAside, Verdict};
use store::shard::node::Claim;

use super::Deliver;
use super::send::{AttemptEnd, Finished};

/// The most attempts recorded in one transaction.
const MAX_PER_GROUP: usize = 1000;

impl Deliver {
    /// Records what ended; returns how many.
    pub(super) async fn record(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let claim = self.lease.claim();
        self.drop_unrecorded_of_lost_lease(claim);
        let mut ended = 0;
        while self.unrecorded.len() < MAX_PER_GROUP
            && let Some(finished) = self.sender.next_finished()
        {
            ended += 1;
            let (to, bytes) = (&finished.destination, finished.bytes);
            self.slots.release(to, bytes, finished.answer(), now);
            self.keep(finished, claim, now);
        }
        if self.unrecorded.is_empty() {
            return Ok(ended);
        }
        let group = std::mem::take(&mut self.unrecorded);
        self.record_split(claim, group, now).await?;
        Ok(ended.max(1))
    }

    /// Keeps an attempt until it is written: a POST that was made must not be made again.
    fn keep(&mut self, finished: Finished, claim: Claim, now: Timestamp) {
        let Finished {
            cargo,
            number,
            is_resend,
            started_at,
            end,
            ..
        } = finished;
        let attempt = match end {
            AttemptEnd::Made(attempt) if finished.claim == claim => attempt,
            AttemptEnd::SetAside(reason) if finished.claim == claim => Attempt {
                error: Some(reason.to_owned()),
                ..Attempt::default()
            },
            // The row is free or another worker's, and so is the attempt.
            AttemptEnd::Made(_) | AttemptEnd::SetAside(_) | AttemptEnd::LeaseLost => {
                metrics::counter!("callback_claims_lost_total").increment(1);
                self.slots.forget([cargo]);
                return;
            }
        };
        let is_success = attempt.is_success();
        let outcome = if is_success { "delivered" } else { "failed" };
        metrics::counter!("callback_attempts_total", "outcome" => outcome).increment(1);
        metrics::histogram!("callback_seconds").record(attempt.latency.as_secs_f64());
        let verdict = match (is_resend, is_success) {
            (false, true) => Verdict::Delivered,
            (true, true) => Verdict::DeliveredAgain,
            (true, false) => Verdict::LeftAsItWas,
            // The wait counts from the end of the attempt, as it is recorded: never early.
            (false, false) => match self.schedule.after_failure(number, now) {
                Next::Attempt { at } => Verdict::TryAgain { due_at: at },
                Next::GiveUp => Verdict::GivenUp,
            },
        };
        self.recorded_as = claim;
        self.unrecorded.push(Ended {
            cargo,
            number,
            started_at,
            ended_at: now,
            took: attempt.latency,
            status: attempt.status,
            error: attempt.error,
            answer: attempt.answer.to_vec(),
            verdict,
        });
    }

    fn drop_unrecorded_of_lost_lease(&mut self, claim: Claim) {
        if self.unrecorded.is_empty() || self.recorded_as == claim {
            return;
        }
        let lost = std::mem::take(&mut self.unrecorded);
        let count = u64::try_from(lost.len()).unwrap_or_default();
        metrics::counter!("callback_claims_lost_total").increment(count);
        self.slots.forget(lost.iter().map(|ended| ended.cargo));
    }

    /// Splits a group that fails until the bad attempt stands alone; the others are recorded.
    async fn record_split(
        &mut self,
        claim: Claim,
        group: Vec<Ended>,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let mut groups = vec![group];
        while let Some(mut group) = groups.pop() {
            let recorded = match attempt::record(&self.shard, claim, &group, now).await {
                Ok(_) => Ok(()),
                Err(failure) if failure.is_away() => Err(failure),
                Err(failure) => {
                    if let [alone] = group.as_slice() {
                        self.set_aside_attempt(claim, alone, &failure, now).await
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

    async fn set_aside_attempt(
        &self,
        claim: Claim,
        ended: &Ended,
        cause: &store::Error,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let (shard, cargo) = (&self.shard, ended.cargo);
        let result = match attempt::set_aside(shard, claim, ended, now).await {
            Ok(SetAside::WithoutLog) => "recorded without its attempt",
            Ok(SetAside::GivenUp) => "given up",
            Ok(SetAside::Postponed) => "postponed",
            Err(failure) if failure.is_away() => return Err(failure),
            // Nothing can be written. The claim is freed as one that this worker does not know of.
            Err(_) => {
                self.slots.doubt_claims();
                "left to be freed"
            }
        };
        let cause = std::error::Error::source(cause).map(ToString::to_string);
        tracing::error!(shard = %shard.name, cargo.id = %cargo, result, cause, "Callback attempt could not be recorded and was set aside: {cargo}");
        metrics::counter!("callback_set_aside_total", "reason" => "not recorded").increment(1);
        Ok(())
    }
}
