//! The state of the Files routes: the file service and, by shard, the requests that wait.

use std::collections::HashMap;
use std::sync::Arc;

use domain::concurrency_limit::ConcurrencyLimit;
use domain::id::{Berth, FileId, ProjectId};
use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::storage_quota::StorageQuota;
use store::Shard;
use store::shard::file::FileRow;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api_error::ApiError;
use crate::api_keys::ApiKeyCache;
use crate::files::service::FileService;
use crate::files::verdict_waiters::VerdictWaiters;
use crate::rate_limit::RouteLimiter;

/// Requests that wait for a verdict: a wait occupies a connection for seconds.
const MAX_LONG_POLLS: usize = 1024;
/// A project has at most 20 open upload sessions.
const MAX_LONG_POLLS_PER_PROJECT: usize = 64;

#[derive(Debug)]
pub(crate) struct FilesState {
    pub(crate) service: FileService,
    pub(super) limiter: Arc<RouteLimiter>,
    plan_limits: watch::Receiver<LimitsByPlan>,
    keys: Arc<ApiKeyCache>,
    waiters_by_shard: HashMap<Arc<str>, Arc<VerdictWaiters>>,
    long_polls: Arc<ConcurrencyLimit<ProjectId>>,
}

impl FilesState {
    pub(crate) fn new(
        service: FileService,
        plan_limits: watch::Receiver<LimitsByPlan>,
        keys: Arc<ApiKeyCache>,
        limiter: Arc<RouteLimiter>,
        shards: &[Arc<Shard>],
    ) -> Self {
        let waiters = shards.iter().map(|shard| {
            let waiters = VerdictWaiters::new(Arc::clone(shard));
            (Arc::clone(&shard.name), Arc::new(waiters))
        });
        Self {
            service,
            limiter,
            plan_limits,
            keys,
            waiters_by_shard: waiters.collect(),
            long_polls: ConcurrencyLimit::new(MAX_LONG_POLLS, MAX_LONG_POLLS_PER_PROJECT),
        }
    }

    /// Starts the task of each shard that queries for verdicts.
    pub(crate) fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        for waiters in self.waiters_by_shard.values() {
            let (waiters, stop) = (Arc::clone(waiters), stop.clone());
            tracker.spawn(async move { waiters.run(stop).await });
        }
    }

    /// The shard that a berth is assigned to.
    pub(super) fn shard(&self, berth: Berth) -> Result<&Arc<Shard>, ApiError> {
        let waiters = self.verdict_waiters(berth);
        let waiters = waiters.ok_or_else(ApiError::shard_unavailable)?;
        Ok(&waiters.shard)
    }

    /// The file with its verdict, or nothing when the time limit passes first. At the limit of
    /// long-polls a request does not wait.
    pub(super) async fn wait_for_verdict(
        &self,
        project: ProjectId,
        file: FileId,
    ) -> Option<FileRow> {
        let _waiting = self.long_polls.try_acquire(project)?;
        let waiters = self.verdict_waiters(file.berth())?;
        waiters.wait(file, self.service.verdict_timeout()).await
    }

    pub(super) fn storage_quota(&self, plan: Plan) -> StorageQuota {
        self.plan_limits.borrow().for_plan(plan).storage
    }

    fn verdict_waiters(&self, berth: Berth) -> Option<&VerdictWaiters> {
        let shard = self.keys.shard_of(berth)?;
        self.waiters_by_shard.get(&shard).map(AsRef::as_ref)
    }
}
