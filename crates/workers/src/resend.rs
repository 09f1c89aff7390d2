//! Resend: callbacks that failed at a host go again, a few each second.

use std::sync::Arc;

use domain::time::Timestamp;
use store::Shard;
use store::shard::resend;

use crate::stage::{Bell, Stage, Step};

#[derive(Debug)]
pub struct Resend {
    shard: Arc<Shard>,
    /// Deliver's: it makes the attempts.
    due: Bell,
}

impl Resend {
    pub(crate) const fn new(shard: Arc<Shard>, due: Bell) -> Self {
        Self { shard, due }
    }
}

#[async_trait::async_trait]
impl Stage for Resend {
    fn name(&self) -> &'static str {
        "resend"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let Some(sent) = resend::step(&self.shard, now).await? else {
            return Ok(Step::Idle);
        };
        self.due.ring();
        Ok(Step::Did(sent))
    }
}
