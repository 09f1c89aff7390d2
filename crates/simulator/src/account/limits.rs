//! Limits of an account: calls per minute, creations per hour, and enqueued work.

use std::collections::VecDeque;

use chrono::TimeDelta;

use super::SimulatedAccount;
use super::create::{JobDraft, token_limit_error};
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::SimulatedValidationError;
use crate::provider::SimulatedProvider;
use crate::refusal::{CallRejection, SimulatedRefusal};

/// The state of the limit of calls per minute.
#[derive(Debug, Clone, Copy)]
pub struct CallQuota {
    pub limit: usize,
    pub remaining: usize,
    pub resets_at: SimulatorTime,
}

impl SimulatedAccount {
    /// Every call passes here. A refused call reports the quota too.
    pub fn admit(&mut self, now: SimulatorTime) -> (Option<CallQuota>, Result<(), CallRejection>) {
        let unauthorized = self.refuse_if(FaultName::Unauthorized, |_| {
            SimulatedRefusal::new(401, "Incorrect API key provided.").openai_code("invalid_api_key")
        });
        if unauthorized.is_err() {
            return (None, unauthorized);
        }
        let Some(limit) = self
            .faults
            .get(FaultName::Rpm)
            .map(|fault| fault.limit.unwrap_or(60))
        else {
            return (None, Ok(()));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let within = count_within_window(&mut self.call_times, now, TimeDelta::minutes(1), limit);
        let oldest = self.call_times.front().copied().unwrap_or(now);
        let quota = CallQuota {
            limit,
            remaining: limit.saturating_sub(self.call_times.len()),
            resets_at: oldest + TimeDelta::minutes(1),
        };
        let admitted = within.map_err(|seconds| {
            SimulatedRefusal::new(429, "Rate limit reached: requests per minute")
                .openai_code("rate_limit_exceeded")
                .retry_after(seconds)
                .into()
        });
        (Some(quota), admitted)
    }

    pub(super) fn count_creation(&mut self, now: SimulatorTime) -> Result<(), CallRejection> {
        let Some(fault) = self.faults.get(FaultName::CreatesPerHour) else {
            return Ok(());
        };
        let limit = usize::try_from(fault.limit.unwrap_or(2000)).unwrap_or(usize::MAX);
        count_within_window(&mut self.creation_times, now, TimeDelta::hours(1), limit).map_err(
            |seconds| {
                SimulatedRefusal::new(429, "Too many batches were created in the last hour")
                    .openai_code("rate_limit_exceeded")
                    .retry_after(seconds)
                    .into()
            },
        )
    }

    /// `OpenAI` accepts the job and fails it later; the others refuse it at once.
    pub(super) fn limit_enqueued(
        &mut self,
        draft: &mut JobDraft,
        now: SimulatorTime,
    ) -> Result<(), CallRejection> {
        if self.provider != SimulatedProvider::OpenAi {
            self.refuse_if(FaultName::TokenLimit, |_| enqueued_limit_refusal())?;
        }
        let Some(fault) = self.faults.get(FaultName::EnqueuedLimit) else {
            return Ok(());
        };
        let (limit, most_requests) = (fault.limit, fault.requests);
        let mut tokens = draft.request.manifest.input_tokens();
        let mut requests = draft.request.manifest.items.len();
        // Anthropic counts all models together.
        let together = self.provider == SimulatedProvider::Anthropic;
        for job in &self.jobs {
            let is_counted = together || job.request.model == draft.request.model;
            if is_counted && job.validation_errors.is_empty() && !job.is_ended(now) {
                tokens += job.request.manifest.input_tokens();
                requests += job.total();
            }
        }
        let most = most_requests.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let objection = if let Some(limit) = limit.filter(|limit| tokens > *limit) {
            token_limit_error(&draft.request.model, limit)
        } else if let Some(most) = most.filter(|most| requests > *most) {
            request_limit_error(&draft.request.model, most)
        } else {
            return Ok(());
        };
        if self.provider == SimulatedProvider::OpenAi {
            draft.validation_errors = vec![objection];
            return Ok(());
        }
        Err(enqueued_limit_refusal().into())
    }
}

fn enqueued_limit_refusal() -> SimulatedRefusal {
    SimulatedRefusal::new(429, "Too much is waiting to be processed").retry_after(60)
}

fn request_limit_error(model: &str, limit: usize) -> SimulatedValidationError {
    SimulatedValidationError {
        code: "token_limit_exceeded".to_owned(),
        line: None,
        message: format!(
            "Enqueued request limit reached for {model} in organization org-simulated. Limit: {limit} enqueued requests. Please try again once some in_progress batches have been completed."
        ),
        param: None,
    }
}

/// Counts one more event in the window, or returns the seconds until there is room.
fn count_within_window(
    seen: &mut VecDeque<SimulatorTime>,
    now: SimulatorTime,
    within: TimeDelta,
    limit: usize,
) -> Result<(), u32> {
    while seen.front().is_some_and(|at| *at + within <= now) {
        seen.pop_front();
    }
    if seen.len() < limit {
        seen.push_back(now);
        return Ok(());
    }
    let free_at = seen.front().map_or(now, |at| *at + within);
    let left = (free_at - now).num_milliseconds().max(0);
    Err(u32::try_from((left + 999) / 1000).unwrap_or(u32::MAX))
}
