//! One worker set: every stage is a task that takes a step when the scheduler releases it.

use std::sync::Arc;

use domain::time::Clock as _;
use test_support::clock::ManualClock;
use tokio::task::JoinHandle;
use workers::lease::Lease;
use workers::stage::Stage;
use workers::{WorkerSet, WorkerSetDeps};

use super::event_log::EventLog;
use super::gate::{GatePoint, STAGE, TaskGate};

pub(super) struct SteppedNode {
    pub(super) lease: Lease,
    tasks: Vec<JoinHandle<()>>,
}

/// The state that the tasks of a node share.
#[derive(Debug, Clone)]
pub(super) struct SteppedNodeContext {
    pub(super) node: usize,
    pub(super) gate: Arc<TaskGate>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) log: Arc<EventLog>,
}

impl SteppedNode {
    pub(super) async fn start(deps: WorkerSetDeps, context: SteppedNodeContext) -> Self {
        let workers = Box::pin(WorkerSet::join(deps)).await.unwrap();
        let WorkerSet {
            gather,
            dispatch,
            collect,
            deliver,
            resend,
            sweep,
            lease,
            ..
        } = workers;
        let tasks = vec![
            spawn_stage(gather, &context),
            spawn_stage(dispatch, &context),
            spawn_stage(collect, &context),
            spawn_stage(deliver, &context),
            spawn_stage(resend, &context),
            spawn_stage(sweep, &context),
            spawn_renewal(lease.clone(), context.clone()),
            spawn_takeover(lease.clone(), context),
        ];
        Self { lease, tasks }
    }

    /// Whether all tasks still run. Only a panic ends a task.
    pub(super) fn is_running(&self) -> bool {
        self.tasks.iter().all(|task| !task.is_finished())
    }

    pub(super) async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            // The task was aborted above.
            let _ = task.await;
        }
    }
}

/// Like the loop of `workers::stage`, which waits by the real clock.
fn spawn_stage(mut stage: impl Stage + 'static, context: &SteppedNodeContext) -> JoinHandle<()> {
    let (name, context) = (stage.name(), context.clone());
    tokio::spawn(STAGE.scope(name, async move {
        let mut failed = false;
        loop {
            context.gate.pass(context.node, GatePoint::Step).await;
            let now = context.clock.now();
            let step = async {
                if failed {
                    stage.recover().await?;
                }
                stage.advance(now).await
            };
            let result = step.await;
            failed = result.is_err();
            context.log.record_step(context.node, name, &result);
        }
    }))
}

fn spawn_renewal(lease: Lease, context: SteppedNodeContext) -> JoinHandle<()> {
    tokio::spawn(STAGE.scope("renew", async move {
        loop {
            context.gate.pass(context.node, GatePoint::Step).await;
            let result = lease.renew().await;
            context.log.record_step(context.node, "renew", &result);
            if result.is_ok() {
                context.log.record_renewal(context.node);
            }
        }
    }))
}

fn spawn_takeover(lease: Lease, context: SteppedNodeContext) -> JoinHandle<()> {
    tokio::spawn(STAGE.scope("claim-takeover", async move {
        loop {
            context.gate.pass(context.node, GatePoint::Step).await;
            let step = async {
                lease.fence_expired_nodes().await?;
                lease.free_orphaned_claims().await
            };
            let result = step.await;
            context
                .log
                .record_step(context.node, "claim-takeover", &result);
        }
    }))
}
