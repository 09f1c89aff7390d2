//! The stages of one shard, under one lease, from start to a graceful end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::Schedule;
use domain::model::Catalogue;
use outbound::callback::CallbackClient;
use store::Shard;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::accounts::{AccountSlots, Accounts};
use crate::audit::Audit;
use crate::callback_slots::{CallbackLimits, CallbackSlots};
use crate::collect::Collect;
use crate::crew::batch_stages::BatchStages;
use crate::deliver::{Deliver, DeliverDeps};
use crate::dispatch::Dispatch;
use crate::files::Files;
use crate::gather::Gather;
use crate::lease::Lease;
use crate::packing::Packing;
use crate::patrol::Patrol;
use crate::providers::Providers;
use crate::resend::Resend;
use crate::scan::Scan;
use crate::stage::{self, Bell};
use crate::stream::Stream;
use crate::sweep::Sweep;
use crate::sweep::files::SweepFiles;

/// What part of the drain the batches under way have; the deliveries have the rest.
const DRAIN_SHARE: u32 = 4;
mod batch_stages;

/// A shard that is away is asked again after this.
const LATER: Duration = Duration::from_secs(1);

/// What a crew is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    pub shard: Arc<Shard>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub providers: Arc<Providers>,
    pub callbacks: Arc<dyn CallbackClient>,
    pub files: Option<Files>,
    pub options: Options,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Drawn anew at every start: a restarted process is another node.
    pub node: Uuid,
    /// For people: host and process.
    pub name: String,
    pub lease: Duration,
    pub packing: Packing,
    pub account_slots: AccountSlots,
    pub callback_limits: CallbackLimits,
    pub schedule: Schedule,
    pub retention: TimeDelta,
    /// Where jobs and results lie while they are put together or read.
    pub spools: PathBuf,
    /// How long deliveries under way are waited for at the end.
    pub drain: Duration,
}

/// The stages of one shard. Tests step each by hand; [`Crew::run`] does it for ever.
#[derive(Debug)]
pub struct Crew {
    pub gather: Gather,
    pub dispatch: Dispatch,
    pub collect: Collect,
    pub stream: Stream,
    pub deliver: Deliver,
    pub resend: Resend,
    pub scan: Scan,
    pub sweep: Sweep,
    pub sweep_files: SweepFiles,
    pub patrol: Patrol,
    pub audit: Audit,
    pub lease: Lease,
    shard: Arc<Shard>,
    bells: Bells,
    drain: Duration,
}

#[derive(Debug, Clone, Default)]
struct Bells {
    gathered: Bell,
    submitted: Bell,
    streamed: Bell,
    finished: Bell,
    scanned: Bell,
}

impl Crew {
    /// Joins the shard as a node.
    pub async fn join(parts: Parts) -> Result<Self, store::Error> {
        let Parts {
            shard,
            catalogue,
            providers,
            callbacks,
            files,
            options,
        } = parts;
        let (node, name) = (options.node, options.name);
        let lease = Lease::join(shard.clone(), node, name, true, options.lease).await?;
        let bells = Bells::default();
        let callback_slots = CallbackSlots::new(options.callback_limits, bells.finished.clone());
        let deliver = DeliverDeps {
            callbacks,
            schedule: options.schedule,
            slots: callback_slots.clone(),
            bell: bells.finished.clone(),
        };
        let gathered = bells.gathered.clone();
        let accounts = Arc::new(Accounts::new(shard.clone()));
        let drain = options.drain / DRAIN_SHARE;
        let batches = BatchStages {
            shard: shard.clone(),
            lease: lease.clone(),
            accounts: accounts.clone(),
            catalogue: catalogue.clone(),
            providers: providers.clone(),
            callback_slots,
            objects: files.as_ref().map(|files| files.objects.clone()),
            slots: options.account_slots,
            spools: options.spools,
            bells: bells.clone(),
            drain,
        };
        Ok(Self {
            gather: Gather::new(
                shard.clone(),
                lease.clone(),
                options.packing,
                providers,
                (accounts, options.account_slots),
                gathered,
            ),
            dispatch: batches.dispatch(),
            stream: batches.stream(),
            sweep: Sweep::new(shard.clone(), lease.clone(), catalogue, options.retention),
            collect: batches.collect(),
            deliver: Deliver::new(shard.clone(), lease.clone(), deliver),
            resend: Resend::new(shard.clone(), bells.finished.clone()),
            scan: Scan::new(
                shard.clone(),
                lease.clone(),
                files.clone(),
                bells.scanned.clone(),
            ),
            sweep_files: SweepFiles::new(shard.clone(), files.clone()),
            patrol: Patrol::new(shard.clone(), files),
            audit: Audit::new(shard.clone(), lease.clone()),
            shard,
            lease,
            bells,
            drain: options.drain.saturating_sub(drain),
        })
    }

    /// Works on a shard until told to stop, however often the shard goes away
    /// and whatever a stage trips over.
    pub async fn work(parts: Parts, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match Self::join(parts.clone()).await {
                Ok(crew) => crew.run(&stop).await,
                Err(failure) => {
                    tracing::warn!(shard = %parts.shard.name, failure = %failure, "the shard cannot be joined yet");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LATER) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Leaves the shard without having run; what was claimed is free at once.
    pub async fn leave(self) -> Result<(), store::Error> {
        self.lease.leave().await
    }

    /// Runs until told to stop, or until a stage panics: then all begin anew.
    async fn run(self, stop: &CancellationToken) {
        let Self {
            gather,
            dispatch,
            collect,
            stream,
            mut deliver,
            resend,
            scan,
            sweep,
            sweep_files,
            patrol,
            audit,
            shard,
            lease,
            bells,
            drain,
        } = self;
        let (leaving, delivered) = (CancellationToken::new(), CancellationToken::new());
        let keeping = TaskTracker::new();
        lease.spawn(&keeping, &leaving);
        let stop = stop.child_token();
        let mut stages = JoinSet::new();
        spawn(&mut stages, gather, &shard, Bell::default(), &stop);
        spawn(&mut stages, dispatch, &shard, bells.gathered, &stop);
        spawn(&mut stages, collect, &shard, bells.submitted, &stop);
        // Questions under way at the end are asked again by whoever comes next.
        spawn_brief(&mut stages, stream, &shard, bells.streamed, &stop);
        spawn(&mut stages, sweep, &shard, Bell::default(), &stop);
        // What these leave undone at the end another node does, or the next round.
        spawn_brief(&mut stages, resend, &shard, Bell::default(), &stop);
        spawn_brief(&mut stages, scan, &shard, bells.scanned, &stop);
        spawn_brief(&mut stages, sweep_files, &shard, Bell::default(), &stop);
        spawn_brief(&mut stages, patrol, &shard, Bell::default(), &stop);
        spawn_brief(&mut stages, audit, &shard, Bell::default(), &stop);
        let delivering = tokio::spawn({
            let (shard, bell) = (shard.clone(), bells.finished);
            let (delivered, stop) = (delivered.clone(), stop.clone());
            async move {
                // Dropped by a panic, too: then the other stages must not go on alone.
                let _stop = stop.drop_guard();
                stage::run(&mut deliver, &shard, bell, delivered).await;
                deliver
            }
        });
        while let Some(ended) = stages.join_next().await {
            if ended.is_err() {
                tracing::error!(shard = %shard.name, "a stage panicked: the crew begins anew");
            }
            stop.cancel();
        }
        // Nothing new comes from collect: now the deliverer may end what it has begun.
        delivered.cancel();
        if let Ok(mut deliver) = delivering.await
            && tokio::time::timeout(drain, deliver.finish()).await.is_err()
        {
            tracing::warn!(shard = %shard.name, "deliveries were still under way: they will be repeated");
        }
        leaving.cancel();
        keeping.close();
        keeping.wait().await;
        if let Err(failure) = lease.leave().await {
            tracing::warn!(shard = %shard.name, failure = %failure, "claims were not freed: they lapse with the lease");
        }
    }
}

fn spawn(
    stages: &mut JoinSet<()>,
    stage: impl stage::Stage + 'static,
    shard: &Arc<Shard>,
    bell: Bell,
    stop: &CancellationToken,
) {
    let (mut stage, shard, stop) = (stage, shard.clone(), stop.clone());
    stages.spawn(async move { stage::run(&mut stage, &shard, bell, stop).await });
}

/// Nobody waits for its last step in the end.
fn spawn_brief(
    stages: &mut JoinSet<()>,
    stage: impl stage::Stage + 'static,
    shard: &Arc<Shard>,
    bell: Bell,
    stop: &CancellationToken,
) {
    let (mut stage, shard, stop) = (stage, shard.clone(), stop.clone());
    stages.spawn(async move {
        tokio::select! {
            () = stage::run(&mut stage, &shard, bell, stop.clone()) => {}
            () = stop.cancelled() => {}
        }
    });
}
