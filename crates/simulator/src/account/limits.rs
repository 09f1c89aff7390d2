//! What an account may do in a minute and an hour, and how much may wait.

use std::collections::VecDeque;

use chrono::TimeDelta;

use super::Account;
use super::create::{Draft, token_limit};
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::Objection;
use crate::provider::Provider;
use crate::refusal::{No, Refusal};

/// Where an account stands with its calls per minute.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    pub limit: usize,
    pub remaining: usize,
    pub resets_at: Moment,
}

impl Account {
    /// Every call passes here. The quota is told even to who is refused.
    pub fn admit(&mut self, now: Moment) -> (Option<Quota>, Result<(), No>) {
        let unauthorized = self.refuse_if(Name::Unauthorized, |_| {
            Refusal::new(401, "Incorrect API key provided.").openai_code("invalid_api_key")
        });
        if unauthorized.is_err() {
            return (None, unauthorized);
        }
        let Some(limit) = self
            .faults
            .seen(Name::Rpm)
            .map(|fault| fault.limit.unwrap_or(60))
        else {
            return (None, Ok(()));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let within = count(&mut self.called, now, TimeDelta::minutes(1), limit);
        let oldest = self.called.front().copied().unwrap_or(now);
        let quota = Quota {
            limit,
            remaining: limit.saturating_sub(self.called.len()),
            resets_at: oldest + TimeDelta::minutes(1),
        };
        let admitted = within.map_err(|seconds| {
            Refusal::new(429, "Rate limit reached: requests per minute")
                .openai_code("rate_limit_exceeded")
                .retry_after(seconds)
                .into()
        });
        (Some(quota), admitted)
    }

    pub(super) fn count_creation(&mut self, now: Moment) -> Result<(), No> {
        let Some(fault) = self.faults.seen(Name::CreatesPerHour) else {
            return Ok(());
        };
        let limit = usize::try_from(fault.limit.unwrap_or(2000)).unwrap_or(usize::MAX);
        count(&mut self.created, now, TimeDelta::hours(1), limit).map_err(|seconds| {
            Refusal::new(429, "Too many batches were created in the last hour")
                .openai_code("rate_limit_exceeded")
                .retry_after(seconds)
                .into()
        })
    }

    /// `OpenAI` accepts what is too much and fails it later; the others say so at once.
    pub(super) fn limit_enqueued(&mut self, draft: &mut Draft, now: Moment) -> Result<(), No> {
        if self.provider != Provider::OpenAi {
            self.refuse_if(Name::TokenLimit, |_| too_much_waits())?;
        }
        let Some(fault) = self.faults.seen(Name::EnqueuedLimit) else {
            return Ok(());
        };
        let (limit, most_requests) = (fault.limit, fault.requests);
        let mut tokens = draft.order.manifest.input_tokens();
        let mut requests = draft.order.manifest.items.len();
        // Anthropic counts all models together.
        let together = self.provider == Provider::Anthropic;
        for job in &self.jobs {
            let is_counted = together || job.order.model == draft.order.model;
            if is_counted && job.objections.is_empty() && !job.is_ended(now) {
                tokens += job.order.manifest.input_tokens();
                requests += job.total();
            }
        }
        let most = most_requests.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let objection = if let Some(limit) = limit.filter(|limit| tokens > *limit) {
            token_limit(&draft.order.model, limit)
        } else if let Some(most) = most.filter(|most| requests > *most) {
            request_limit(&draft.order.model, most)
        } else {
            return Ok(());
        };
        if self.provider == Provider::OpenAi {
            draft.objections = vec![objection];
            return Ok(());
        }
        Err(too_much_waits().into())
    }
}

fn too_much_waits() -> Refusal {
    Refusal::new(429, "Too much is waiting to be processed").retry_after(60)
}

fn request_limit(model: &str, limit: usize) -> Objection {
    Objection {
        code: "token_limit_exceeded".to_owned(),
        line: None,
        message: format!(
            "Enqueued request limit reached for {model} in organization org-simulated. Limit: {limit} enqueued requests. Please try again once some in_progress batches have been completed."
        ),
        param: None,
    }
}

/// Counts one more within a time, or says after how many seconds there is room.
fn count(
    seen: &mut VecDeque<Moment>,
    now: Moment,
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
