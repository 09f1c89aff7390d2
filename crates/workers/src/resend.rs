//! Resend: schedules the failed callbacks of a host for one more attempt, a few per second.

use std::sync::Arc;

use domain::time::Timestamp;
use store::Shard;
use store::shard::resend;

use crate::stage::{Stage, StepResult, Wakeup};

#[derive(Debug)]
pub struct ResendStage {
    shard: Arc<Shard>,
    /// Wakes deliver, which makes the attempts.
    wakeup: Wakeup,
}

impl ResendStage {
    pub(crate) const fn new(shard: Arc<Shard>, due: Wakeup) -> Self {
        Self { shard, wakeup: due }
    }
}

#[async_trait::async_trait]
impl Stage for ResendStage {
    fn name(&self) -> &'static str {
        "resend"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let Some(sent) = resend::step(&self.shard, now).await? else {
            return Ok(StepResult::Idle);
        };
        self.wakeup.wake();
        Ok(StepResult::Processed(sent))
    }
}
