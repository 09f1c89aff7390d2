//! One set of workers: every stage is a task that takes a step whenever the scheduler says so.

use std::sync::Arc;

use domain::time::Clock as _;
use tokio::task::JoinHandle;
use workers::lease::Lease;
use workers::stage::Stage;
use workers::{Crew, Parts};

use super::gate::{Gate, Point, STAGE};
use super::log::Log;
use crate::database::HandMoved;

pub(super) struct Node {
    pub(super) lease: Lease,
    tasks: Vec<JoinHandle<()>>,
}

/// What the tasks of a node share.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) node: usize,
    pub(super) gate: Arc<Gate>,
    pub(super) clock: Arc<HandMoved>,
    pub(super) log: Arc<Log>,
}

impl Node {
    pub(super) async fn start(parts: Parts, context: Context) -> Self {
        let crew = Box::pin(Crew::join(parts)).await.unwrap();
        let Crew {
            gather,
            dispatch,
            collect,
            deliver,
            resend,
            sweep,
            lease,
            ..
        } = crew;
        let tasks = vec![
            spawn_stage(gather, &context),
            spawn_stage(dispatch, &context),
            spawn_stage(collect, &context),
            spawn_stage(deliver, &context),
            spawn_stage(resend, &context),
            spawn_stage(sweep, &context),
            spawn_renewal(lease.clone(), context.clone()),
            spawn_burial(lease.clone(), context),
        ];
        Self { lease, tasks }
    }

    /// A stage that panicked has ended; no other has.
    pub(super) fn is_whole(&self) -> bool {
        self.tasks.iter().all(|task| !task.is_finished())
    }

    pub(super) async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            // Cancelled, as it should be.
            let _ = task.await;
        }
    }
}

/// As the loop of `workers::stage`, which waits by the real clock.
fn spawn_stage(mut stage: impl Stage + 'static, context: &Context) -> JoinHandle<()> {
    let (name, context) = (stage.name(), context.clone());
    tokio::spawn(STAGE.scope(name, async move {
        let mut failed = false;
        loop {
            context.gate.pass(context.node, Point::Step).await;
            let now = context.clock.now();
            let step = async {
                if failed {
                    stage.mend().await?;
                }
                stage.advance(now).await
            };
            let ended = step.await;
            failed = ended.is_err();
            context.log.ended(context.node, name, &ended);
        }
    }))
}

fn spawn_renewal(lease: Lease, context: Context) -> JoinHandle<()> {
    tokio::spawn(STAGE.scope("renew", async move {
        loop {
            context.gate.pass(context.node, Point::Step).await;
            let ended = lease.renew().await;
            context.log.ended(context.node, "renew", &ended);
            if ended.is_ok() {
                context.log.renewed(context.node);
            }
        }
    }))
}

fn spawn_burial(lease: Lease, context: Context) -> JoinHandle<()> {
    tokio::spawn(STAGE.scope("bury", async move {
        loop {
            context.gate.pass(context.node, Point::Step).await;
            let step = async {
                lease.bury_dead().await?;
                lease.free_orphans().await
            };
            let ended = step.await;
            context.log.ended(context.node, "bury", &ended);
        }
    }))
}
