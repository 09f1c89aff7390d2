//! A caller alone, who waits as long as it was told to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chaos::pair::Pair;
use crate::failure::{During as _, Failure, Result};
use crate::http::Answer;
use crate::organization::Organization;
use crate::request::Loads;

/// What one token takes on the Free plan.
const TOKEN: Duration = Duration::from_secs(2);
/// How often a new token is looked for.
const LOOK: Duration = Duration::from_millis(20);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct CallbackLatency {
    pub measured: u32,
    /// Accepted after `Retry-After`.
    pub accepted: u32,
    /// Accepted a second before that.
    pub early: u32,
}

/// Waits so many times with an organization of the Free plan whose bucket is empty.
pub async fn wait(
    pair: &Pair,
    loads: &Arc<Loads>,
    organization: &Organization,
    wanted: u32,
) -> Result<CallbackLatency> {
    let mut caller = Caller {
        pair,
        loads,
        organization,
        number: 1_000_000,
    };
    let mut waits = CallbackLatency::default();
    for _ in 0..wanted * 3 {
        if waits.measured == wanted {
            break;
        }
        caller.take_a_fresh_token().await?;
        let refused = caller.load().await?;
        let told_at = Instant::now();
        let Some(seconds) = refused.retry_after.filter(|_| refused.status == 429) else {
            return Err(Failure::new(format!(
                "an empty bucket answers {} without Retry-After",
                refused.status
            )));
        };
        // The token was taken as it came, so the next is almost two seconds away. A machine
        // that was away for half of them leaves no second to be early by.
        let wait = Duration::from_secs(seconds);
        if wait != TOKEN {
            continue;
        }
        waits.measured += 1;
        caller
            .sleep_until(told_at + wait.saturating_sub(SECOND))
            .await;
        waits.early += u32::from(caller.load().await?.status == 202);
        caller.sleep_until(told_at + wait).await;
        waits.accepted += u32::from(caller.load().await?.status == 202);
    }
    Ok(waits)
}

struct Caller<'a> {
    pair: &'a Pair,
    loads: &'a Loads,
    organization: &'a Organization,
    number: u64,
}

impl Caller<'_> {
    /// One load, to each process in turn.
    async fn load(&mut self) -> Result<Answer> {
        self.number += 1;
        let turn = usize::try_from(self.number).unwrap_or_default() % self.pair.targets.len();
        let target = self.pair.targets.get(turn);
        let target = target.ok_or_else(|| Failure::new("nobody serves"))?;
        let mut request = String::new();
        self.loads
            .write(&mut request, self.organization, self.number);
        target.send(request.as_bytes()).await.during("loading")
    }

    /// Empties the bucket, then takes the next token the moment it comes.
    async fn take_a_fresh_token(&mut self) -> Result<()> {
        while self.load().await?.status == 202 {}
        let begun = Instant::now();
        while self.load().await?.status != 202 {
            if begun.elapsed() > TOKEN * 5 {
                return Err(Failure::new("an empty bucket is not refilled"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn sleep_until(&self, moment: Instant) {
        tokio::time::sleep_until(moment.into()).await;
    }
}
