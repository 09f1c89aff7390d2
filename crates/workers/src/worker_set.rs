//! The stages of one shard, under one lease, from start to graceful shutdown.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::callback_signature::SigningRoots;
use domain::history_retention::HistoryRetention;
use domain::model::Catalogue;
use domain::retry_schedule::RetrySchedule;
use outbound::callback::CallbackClient;
use outbound::otlp::Tracer;
use store::Shard;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::account_states::{AccountSlots, AccountStates};
use crate::audit::AuditStage;
use crate::batch_stage::{BatchStage, BatchStageParams};
use crate::callback_slots::{CallbackLimits, CallbackSlots};
use crate::claimed_batch::BatchDeps;
use crate::collect::CollectWorker;
use crate::deliver::{DeliverDeps, DeliverStage};
use crate::dispatch::DispatchWorker;
use crate::file_stage_deps::FileStageDeps;
use crate::gather::GatherStage;
use crate::lease::Lease;
use crate::packing_limits::PackingLimits;
use crate::patrol::PatrolStage;
use crate::providers::Providers;
use crate::recovery::RecoveryStage;
use crate::recovery_gate::RecoveryGate;
use crate::resend::ResendStage;
use crate::scan::ScanStage;
use crate::stage::{self, Wakeup};
use crate::stream::StreamWorker;
use crate::sweep::SweepStage;
use crate::sweep::files::FileSweepStage;
use crate::sweep::history::HistorySweepStage;
use crate::sweep::jobs::JobSweepStage;

/// Running batches get this fraction of the drain timeout. Deliveries get the rest.
const BATCH_DRAIN_DIVISOR: u32 = 4;
/// How long to wait before joining an unavailable shard again.
const JOIN_RETRY_DELAY: Duration = Duration::from_secs(1);

/// What a worker set needs.
#[derive(Debug, Clone)]
pub struct WorkerSetDeps {
    pub shard: Arc<Shard>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub providers: Arc<Providers>,
    pub callbacks: Arc<dyn CallbackClient>,
    pub files: Option<FileStageDeps>,
    /// None: tracing is off.
    pub tracer: Option<Tracer>,
    pub options: Options,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Random at every start: a restarted process is a new node.
    pub node: Uuid,
    /// For display: host and process.
    pub name: String,
    pub lease_duration: Duration,
    pub packing: PackingLimits,
    pub account_slots: AccountSlots,
    pub callback_limits: CallbackLimits,
    pub retry_schedule: RetrySchedule,
    /// How long a callback attempt waits for the answer of a listener. None: the listen tunnel is
    /// off.
    pub listener_timeout: Option<Duration>,
    /// The secrets of signed callbacks are derived from them. None: this process cannot sign.
    pub signing_roots: Option<SigningRoots>,
    pub retention: HistoryRetention,
    /// The directory for jobs while they are packed and for results while they are read.
    pub spool_dir: PathBuf,
    /// How long a shutdown waits for running batches and deliveries.
    pub drain_timeout: Duration,
}

/// The stages of one shard. Tests step each stage by hand; [`WorkerSet::run`] runs all of them.
#[derive(Debug)]
pub struct WorkerSet {
    pub gather: GatherStage,
    pub dispatch: BatchStage,
    pub collect: BatchStage,
    pub stream: BatchStage,
    pub deliver: DeliverStage,
    pub resend: ResendStage,
    pub scan: ScanStage,
    pub sweep: SweepStage,
    pub sweep_files: FileSweepStage,
    pub sweep_jobs: JobSweepStage,
    pub sweep_history: HistorySweepStage,
    pub patrol: PatrolStage,
    pub audit: AuditStage,
    pub recovery: RecoveryStage,
    pub lease: Lease,
    shard: Arc<Shard>,
    wakeups: Wakeups,
    drain_timeout: Duration,
}

#[derive(Debug, Default)]
struct Wakeups {
    gathered: Wakeup,
    submitted: Wakeup,
    streamed: Wakeup,
    finished: Wakeup,
    scanned: Wakeup,
}

impl WorkerSet {
    /// Joins the shard as a node.
    pub async fn join(parts: WorkerSetDeps) -> Result<Self, store::Error> {
        let WorkerSetDeps {
            shard,
            catalogue,
            providers,
            callbacks,
            files,
            tracer,
            options,
        } = parts;
        let (node, name) = (options.node, options.name);
        let lease = Lease::join(shard.clone(), node, name, true, options.lease_duration).await?;
        let wakeups = Wakeups::default();
        let callback_slots = CallbackSlots::new(options.callback_limits, wakeups.finished.clone());
        let deliver = DeliverDeps {
            callbacks,
            listener_timeout: options.listener_timeout,
            retry_schedule: options.retry_schedule,
            slots: callback_slots.clone(),
            wakeup: wakeups.finished.clone(),
            signing_roots: options.signing_roots,
            tracer: tracer.clone(),
        };
        let sweep_jobs = JobSweepStage::new(shard.clone(), providers.clone());
        let sweep_history = HistorySweepStage::new(shard.clone(), lease.clone(), options.retention);
        let (rows, held) = (shard.clone(), lease.clone());
        let recovery = RecoveryStage::new(rows, held, files.clone(), providers.clone());
        let drain = options.drain_timeout / BATCH_DRAIN_DIVISOR;
        let deps = Arc::new(BatchDeps {
            shard: shard.clone(),
            accounts: Arc::new(AccountStates::new(shard.clone())),
            catalogue: catalogue.clone(),
            providers,
            callback_slots,
            objects: files.as_ref().map(|files| files.objects.clone()),
            spool_dir: options.spool_dir,
            tracer: tracer.clone(),
        });
        let account_slots = options.account_slots;
        let batch_stage = |wakeup: &Wakeup| BatchStageParams {
            deps: deps.clone(),
            lease: lease.clone(),
            account_slots,
            wakeup: wakeup.clone(),
            drain_timeout: drain,
        };
        let submitted = [wakeups.submitted.clone(), wakeups.streamed.clone()];
        let (packing, gathered) = (options.packing, wakeups.gathered.clone());
        let scanned = wakeups.scanned.clone();
        Ok(Self {
            gather: GatherStage::new(&deps, lease.clone(), packing, account_slots, gathered),
            dispatch: BatchStage::new(
                DispatchWorker::new(submitted),
                batch_stage(&wakeups.gathered),
            ),
            collect: BatchStage::new(CollectWorker::default(), batch_stage(&wakeups.submitted)),
            stream: BatchStage::new(StreamWorker::default(), batch_stage(&wakeups.streamed)),
            sweep: SweepStage::new(
                shard.clone(),
                lease.clone(),
                catalogue,
                options.retention.cargo,
                tracer,
            ),
            deliver: DeliverStage::new(shard.clone(), lease.clone(), deliver),
            resend: ResendStage::new(shard.clone(), wakeups.finished.clone()),
            scan: ScanStage::new(shard.clone(), lease.clone(), files.clone(), scanned),
            sweep_files: FileSweepStage::new(shard.clone(), files.clone()),
            sweep_jobs,
            sweep_history,
            patrol: PatrolStage::new(shard.clone(), files),
            audit: AuditStage::new(shard.clone(), lease.clone()),
            recovery,
            shard,
            lease,
            wakeups,
            drain_timeout: options.drain_timeout.saturating_sub(drain),
        })
    }

    /// Works on a shard until `stop` is cancelled. Joins again when the shard was unavailable or a
    /// stage panicked.
    pub async fn run_until_stopped(parts: WorkerSetDeps, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match Self::join(parts.clone()).await {
                Ok(worker_set) => worker_set.run(&stop).await,
                Err(failure) => {
                    tracing::warn!(shard = %parts.shard.name, failure = %failure, "the shard cannot be joined and will be tried again");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(JOIN_RETRY_DELAY) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Leaves the shard without running. Its claims are free at once.
    pub async fn leave(self) -> Result<(), store::Error> {
        self.lease.leave().await
    }

    /// Runs until `stop` is cancelled or a stage panics. After a panic, the caller starts all
    /// stages again.
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
            sweep_jobs,
            sweep_history,
            patrol,
            audit,
            recovery,
            shard,
            lease,
            wakeups,
            drain_timeout: drain,
        } = self;
        let (leaving, delivered) = (CancellationToken::new(), CancellationToken::new());
        let keeping = TaskTracker::new();
        lease.spawn(&keeping, &leaving);
        let stop = stop.child_token();
        let gate = recovery.gate();
        let mut stages = StageSet {
            tasks: JoinSet::new(),
            shard: shard.clone(),
            stop: stop.clone(),
        };
        let open = Some(&gate);
        stages.spawn(gather, Wakeup::default(), open);
        stages.spawn(dispatch, wakeups.gathered, open);
        stages.spawn(collect, wakeups.submitted, open);
        // At shutdown, the next worker repeats the requests that are in flight.
        stages.spawn_abortable(stream, wakeups.streamed, open);
        stages.spawn(sweep, Wakeup::default(), open);
        // At shutdown, another node or the next run finishes what these stages leave undone.
        stages.spawn_abortable(resend, Wakeup::default(), open);
        stages.spawn_abortable(scan, wakeups.scanned, open);
        stages.spawn_abortable(sweep_files, Wakeup::default(), open);
        stages.spawn_abortable(sweep_jobs, Wakeup::default(), open);
        stages.spawn_abortable(sweep_history, Wakeup::default(), open);
        stages.spawn_abortable(patrol, Wakeup::default(), open);
        // These change no cargo and send nothing, so they also run while the shard is paused.
        stages.spawn_abortable(audit, Wakeup::default(), None);
        stages.spawn_abortable(recovery, Wakeup::default(), None);
        let delivering = tokio::spawn({
            let (shard, wakeup) = (shard.clone(), wakeups.finished);
            let (delivered, stop) = (delivered.clone(), stop.clone());
            async move {
                // A panic drops the guard too: the other stages must not run without deliver.
                let _stop = stop.drop_guard();
                stage::run(&mut deliver, &shard, wakeup, Some(&gate), delivered).await;
                deliver
            }
        });
        while let Some(ended) = stages.tasks.join_next().await {
            if ended.is_err() {
                tracing::error!(shard = %shard.name, "a stage panicked: all stages of the shard restart");
            }
            stop.cancel();
        }
        // Collect hands over nothing more, so deliver can finish what is in flight.
        delivered.cancel();
        if let Ok(mut deliver) = delivering.await
            && tokio::time::timeout(drain, deliver.finish_in_flight())
                .await
                .is_err()
        {
            tracing::warn!(shard = %shard.name, "callbacks were still in flight at shutdown: another worker repeats them");
        }
        leaving.cancel();
        keeping.close();
        keeping.wait().await;
        if let Err(failure) = lease.leave().await {
            tracing::warn!(shard = %shard.name, failure = %failure, "claims were not freed: they expire with the lease");
        }
    }
}

/// The running stages of one shard.
struct StageSet {
    tasks: JoinSet<()>,
    shard: Arc<Shard>,
    stop: CancellationToken,
}

impl StageSet {
    fn spawn(
        &mut self,
        mut stage: impl stage::Stage + 'static,
        wakeup: Wakeup,
        gate: Option<&RecoveryGate>,
    ) {
        let (shard, stop, gate) = (self.shard.clone(), self.stop.clone(), gate.cloned());
        self.tasks.spawn(async move {
            stage::run(&mut stage, &shard, wakeup, gate.as_ref(), stop).await;
        });
    }

    /// As `spawn`, but a shutdown aborts the current step.
    fn spawn_abortable(
        &mut self,
        mut stage: impl stage::Stage + 'static,
        wakeup: Wakeup,
        gate: Option<&RecoveryGate>,
    ) {
        let (shard, stop, gate) = (self.shard.clone(), self.stop.clone(), gate.cloned());
        self.tasks.spawn(async move {
            tokio::select! {
                () = stage::run(&mut stage, &shard, wakeup, gate.as_ref(), stop.clone()) => {}
                () = stop.cancelled() => {}
            }
        });
    }
}
