//! A single caller that waits as long as `Retry-After` tells it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chaos::process_pair::ProcessPair;
use crate::harness::build_profile;
use crate::harness::{
    FailureContext as _, HttpResponse, LoadRequests, Result, TrialFailure, TrialOrganization,
};

/// The time in which the Free plan refills one token.
const TOKEN_INTERVAL: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const EARLY_BY: Duration = Duration::from_secs(1);
/// Also for an empty bucket to be refilled.
const MEASUREMENT_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_mins(1));

#[derive(Debug, Default)]
pub struct RetryAfterWaits {
    pub measured: u32,
    /// Accepted after `Retry-After`.
    pub accepted: u32,
    /// Accepted one second before that.
    pub accepted_early: u32,
}

/// Measures waits with an organization of the Free plan whose bucket is empty.
pub async fn measure_waits(
    pair: &ProcessPair,
    loads: &Arc<LoadRequests>,
    organization: &TrialOrganization,
    wanted: u32,
) -> Result<RetryAfterWaits> {
    let mut caller = RetryingCaller {
        pair,
        loads,
        organization,
        number: 1_000_000,
    };
    let mut waits = RetryAfterWaits::default();
    let begun = Instant::now();
    while waits.measured < wanted && begun.elapsed() < MEASUREMENT_TIMEOUT {
        let token_after = caller.take_next_token().await?;
        let refused = caller.load().await?;
        let told_at = Instant::now();
        // On a slow machine another token has arrived, or the service did not answer in time.
        if matches!(refused.status, 202 | 503) {
            continue;
        }
        let Some(seconds) = refused.retry_after().filter(|_| refused.status == 429) else {
            return Err(TrialFailure::new(format!(
                "an empty bucket answers {} without Retry-After",
                refused.status
            )));
        };
        // The token was taken when it arrived, so the next one is almost two seconds away. On a
        // machine that paused for half of that time, no full second is left.
        let wait = Duration::from_secs(seconds);
        if wait != TOKEN_INTERVAL {
            continue;
        }
        caller
            .sleep_until(told_at + wait.saturating_sub(EARLY_BY))
            .await;
        let early = caller.load().await?.status;
        // The next token may have arrived by now: this answer says nothing.
        if early == 202 && token_after.elapsed() >= TOKEN_INTERVAL {
            continue;
        }
        caller.sleep_until(told_at + wait).await;
        let late = caller.load().await?.status;
        // Such a load got a token and then no answer.
        if [early, late].contains(&503) {
            continue;
        }
        waits.measured += 1;
        waits.accepted_early += u32::from(early == 202);
        waits.accepted += u32::from(late == 202);
    }
    Ok(waits)
}

struct RetryingCaller<'a> {
    pair: &'a ProcessPair,
    loads: &'a LoadRequests,
    organization: &'a TrialOrganization,
    number: u64,
}

impl RetryingCaller<'_> {
    /// Sends one load, to each process in turn.
    async fn load(&mut self) -> Result<HttpResponse> {
        self.number += 1;
        let turn = usize::try_from(self.number).unwrap_or_default() % self.pair.clients.len();
        let target = self.pair.clients.get(turn);
        let target = target.context("no process is running")?;
        let request = self.loads.build(self.organization, self.number);
        target.send(request).await.context("loading")
    }

    /// Empties the bucket, then takes the next token as soon as it arrives. Returns a moment at
    /// which it had not arrived.
    async fn take_next_token(&mut self) -> Result<Instant> {
        let begun = Instant::now();
        let mut refused_at = None;
        while begun.elapsed() < MEASUREMENT_TIMEOUT {
            let asked_at = Instant::now();
            match (self.load().await?.status, refused_at) {
                (202, Some(refused_at)) => return Ok(refused_at),
                (429, _) => refused_at = Some(asked_at),
                _ => {}
            }
            if refused_at.is_some() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Err(TrialFailure::new("an empty bucket is not refilled"))
    }

    async fn sleep_until(&self, moment: Instant) {
        tokio::time::sleep_until(moment.into()).await;
    }
}
