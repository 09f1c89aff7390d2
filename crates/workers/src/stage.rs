//! A stage takes a step at a time; the loop around it decides when.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Timestamp;
use store::Shard;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long a stage that found nothing waits before it looks again.
const IDLE: Duration = Duration::from_millis(50);
/// After a failure: the database may be away, and everyone would ask at once.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Something was done; there may be more.
    Did(usize),
    /// Nothing was there.
    Idle,
}

impl Step {
    pub(crate) const fn of(count: usize) -> Self {
        if count == 0 {
            Self::Idle
        } else {
            Self::Did(count)
        }
    }
}

#[async_trait::async_trait]
pub trait Stage: Send {
    fn name(&self) -> &'static str;

    /// Does what is due at `now`, a little at a time, and waits until it is done.
    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error>;

    /// As [`Stage::step`], but waits for no call to another machine: what is not done yet goes on
    /// beside. The loop does this, so that a call that hangs delays nothing else.
    async fn advance(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        self.step(now).await
    }

    /// Called at the end: waits a little for what goes on beside.
    async fn drain(&mut self) {}

    /// Called before the step that follows a failed one, which may have left claims behind.
    async fn mend(&mut self) -> Result<(), store::Error> {
        Ok(())
    }
}

/// Rings when a stage leaves work for another one in this process; polling does the rest.
#[derive(Debug, Clone, Default)]
pub struct Bell(Arc<Notify>);

impl Bell {
    pub fn ring(&self) {
        self.0.notify_one();
    }

    /// Rings when what it returns is dropped.
    pub(crate) fn ring_on_drop(self) -> impl Drop + Send {
        RingOnDrop(self)
    }

    pub(crate) async fn rung(&self) {
        self.0.notified().await;
    }
}

struct RingOnDrop(Bell);

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// Steps until told to stop. One failure never ends the loop.
pub async fn run(stage: &mut impl Stage, shard: &Shard, bell: Bell, stop: CancellationToken) {
    let name = stage.name();
    let mut failed = false;
    while !stop.is_cancelled() {
        let went = next(stage, shard, failed).await;
        failed = went.is_err();
        let pause = match went {
            Ok(Step::Did(count)) => {
                let did = metrics::counter!("stage_items_total", "stage" => name, "shard" => shard.name.to_string());
                did.increment(u64::try_from(count).unwrap_or_default());
                continue;
            }
            Ok(Step::Idle) => IDLE,
            Err(store::Error::Moved) => {
                tracing::info!(stage = name, shard = %shard.name, "a claim was lost: work that was ours is someone else's now");
                IDLE
            }
            Err(failure) => {
                let cause = std::error::Error::source(&failure).map(ToString::to_string);
                tracing::warn!(stage = name, shard = %shard.name, failure = %failure, cause, "a step failed and will be repeated");
                metrics::counter!("stage_failures_total", "stage" => name, "shard" => shard.name.to_string()).increment(1);
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = bell.rung() => {}
            () = stop.cancelled() => {}
        }
    }
    stage.drain().await;
}

async fn next(
    stage: &mut impl Stage,
    shard: &Shard,
    after_failure: bool,
) -> Result<Step, store::Error> {
    if after_failure {
        stage.mend().await?;
    }
    stage.advance(shard.clock.now()).await
}
