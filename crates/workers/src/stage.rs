//! A stage works in steps. The loop around it decides when the next step starts.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Timestamp;
use store::Shard;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::recovery_gate::RecoveryGate;

/// How long a stage waits after a step that found nothing.
const IDLE_DELAY: Duration = Duration::from_millis(50);
/// How long a stage waits after a failure, so that stages do not overload a database that has
/// just come back.
const FAILURE_DELAY: Duration = Duration::from_millis(500);

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepResult {
    /// It processed this many items. There may be more.
    Processed(usize),
    /// It found nothing to do.
    Idle,
}

impl StepResult {
    pub(crate) const fn from_count(count: usize) -> Self {
        if count == 0 {
            Self::Idle
        } else {
            Self::Processed(count)
        }
    }
}

#[async_trait::async_trait]
pub trait Stage: Send {
    fn name(&self) -> &'static str;

    /// Does what is due at `now`, a little at a time, and waits until it is done.
    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error>;

    /// As [`Stage::step`], but does not wait for calls to other machines: they continue in tasks.
    /// The loop calls this, so that a call that hangs delays nothing else.
    async fn advance(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        self.step(now).await
    }

    /// Called at shutdown: waits a little for running tasks.
    async fn drain(&mut self) {}

    /// Called before the step after a failed one, which may have left claims behind.
    async fn recover(&mut self) -> Result<(), store::Error> {
        Ok(())
    }
}

/// Wakes a stage when another stage of this process has left work for it. Polling finds the rest.
#[derive(Debug, Clone, Default)]
pub struct Wakeup(Arc<Notify>);

impl Wakeup {
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Wakes the stage when the returned guard is dropped.
    pub(crate) fn wake_on_drop(self) -> impl Drop + Send {
        WakeOnDrop(self)
    }

    pub(crate) async fn wait(&self) {
        self.0.notified().await;
    }
}

struct WakeOnDrop(Wakeup);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Runs steps until `stop` is cancelled, and none while the gate is closed. A failure never ends
/// the loop.
pub(crate) async fn run(
    stage: &mut impl Stage,
    shard: &Shard,
    wakeup: Wakeup,
    gate: Option<&RecoveryGate>,
    stop: CancellationToken,
) {
    let (name, shard_name) = (stage.name(), shard.name.to_string());
    let items = metrics::counter!("longshore_stage_items_total", "stage" => name, "shard" => shard_name.clone());
    let failures =
        metrics::counter!("longshore_stage_failures_total", "stage" => name, "shard" => shard_name);
    let mut failed = false;
    while !stop.is_cancelled() {
        if gate.is_some_and(|gate| !gate.is_open()) {
            tokio::select! {
                () = tokio::time::sleep(IDLE_DELAY) => {}
                () = stop.cancelled() => {}
            }
            continue;
        }
        let went = next_step(stage, shard, failed).await;
        failed = went.is_err();
        let pause = match went {
            Ok(StepResult::Processed(count)) => {
                items.increment(u64::try_from(count).unwrap_or_default());
                continue;
            }
            Ok(StepResult::Idle) => IDLE_DELAY,
            Err(store::Error::Fenced) => {
                tracing::info!(stage = name, shard = %shard.name, "a claim was lost: another worker continues");
                IDLE_DELAY
            }
            Err(failure) => {
                tracing::warn!(stage = name, shard = %shard.name, failure = failure.diagnosis(), "a stage step failed and will be retried");
                failures.increment(1);
                FAILURE_DELAY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = wakeup.wait() => {}
            () = stop.cancelled() => {}
        }
    }
    stage.drain().await;
}

async fn next_step(
    stage: &mut impl Stage,
    shard: &Shard,
    after_failure: bool,
) -> Result<StepResult, store::Error> {
    if after_failure {
        stage.recover().await?;
    }
    stage.advance(shard.clock.now()).await
}
