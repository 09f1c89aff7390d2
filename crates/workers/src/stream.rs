//! Stream: sends the items of a batch as realtime requests, as many at once as the provider can
//! handle.
//!
//! Answers are stored soon after they arrive, so that a restart repeats only unanswered requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::batch::MAX_TAKEOVERS;
use domain::model::Model;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::realtime::RealtimeProvider;
use outbound::provider::realtime::concurrency_limiter::ConcurrencyLimiter;
use parking_lot::Mutex;
use store::shard::provider;

use crate::batch_end::BatchEnd;
use crate::batch_stage::{BatchStageKind, BatchWork, BatchWorker};
use crate::claimed_batch::ClaimedBatch;
use crate::deadlines;
use crate::providers::ProviderAccess;
use crate::requeue::RequeueTiming;

use self::realtime_run::RealtimeProgress;

mod flex;
mod permit_guard;
mod realtime_run;

/// How long until an unhealthy server is tried again.
const SERVER_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// How long a server may take to answer one request.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// How many answers in a row raise a server's concurrency limit by one.
const ANSWERS_PER_LIMIT_RAISE: u32 = 8;
/// The same for flex, whose answers take minutes.
const FLEX_ANSWERS_PER_LIMIT_RAISE: u32 = 1;

#[derive(Debug, Default)]
pub(crate) struct StreamWorker {
    /// The concurrency limiter of each server and of each account's flex requests, shared by all
    /// batches.
    limiters: HashMap<String, Arc<Mutex<ConcurrencyLimiter>>>,
}

/// A server, and how many requests it gets at once.
struct RealtimeServer {
    provider: Arc<dyn RealtimeProvider>,
    limiter: Arc<Mutex<ConcurrencyLimiter>>,
}

#[async_trait]
impl BatchWorker for StreamWorker {
    fn kind(&self) -> BatchStageKind {
        BatchStageKind::Stream
    }

    async fn start(&mut self, claimed: ClaimedBatch) -> BatchWork {
        let server = self.find_server(&claimed);
        Box::pin(async move { stream_batch(&claimed, server).await })
    }
}

impl StreamWorker {
    fn find_server(&mut self, claimed: &ClaimedBatch) -> Option<RealtimeServer> {
        let name = &claimed.lane.provider;
        let (provider, share) = match claimed.deps.providers.find(name)? {
            ProviderAccess::Realtime { realtime, share }
            | ProviderAccess::Batch {
                realtime: Some(realtime),
                share,
                ..
            } => (realtime.clone(), share),
            ProviderAccess::Batch { realtime: None, .. } | ProviderAccess::Mock(_) => return None,
        };
        let most = u32::try_from(share.max_concurrent_requests).unwrap_or(u32::MAX);
        let answers = match claimed.lane.via {
            InferenceMode::Flex => FLEX_ANSWERS_PER_LIMIT_RAISE,
            InferenceMode::Batch | InferenceMode::Realtime => ANSWERS_PER_LIMIT_RAISE,
        };
        let limiter = self
            .limiters
            .entry(claimed.account_key())
            .or_insert_with(|| Arc::new(Mutex::new(ConcurrencyLimiter::new(most, answers))));
        let limiter = limiter.clone();
        Some(RealtimeServer { provider, limiter })
    }
}

async fn stream_batch(
    claimed: &ClaimedBatch,
    server: Option<RealtimeServer>,
) -> Result<usize, store::Error> {
    let (shard, name) = (claimed.shard(), &claimed.lane.provider);
    let model = claimed.model.as_ref();
    let route = model.and_then(|it| it.routes.find(name, claimed.lane.via));
    let requeue_now = BatchEnd::Requeue(RequeueTiming::Immediately);
    let (Some(route), Some(server)) = (route, &server) else {
        claimed.end(requeue_now, claimed.claimed_at).await?;
        return Ok(1);
    };
    if claimed.batch.takeovers >= MAX_TAKEOVERS {
        // One of its cargo may be a poison pill: requeued, it ends up in another batch.
        claimed.end(requeue_now, claimed.claimed_at).await?;
        return Ok(1);
    }
    // Cargo past its deadline fails before it is sent.
    deadlines::fail_overdue(claimed).await?;
    let is_flex = route.via == InferenceMode::Flex;
    if flex::is_closed(claimed) {
        let progress = RealtimeProgress::default();
        return end_flex(claimed, &progress, server).await;
    }
    // A provider with a flex tier is no server that may be down: its answers tell.
    if !is_flex {
        let checking = server.provider.check_health();
        if let Err(failure) = claimed.call_provider(checking).await? {
            return handle_unhealthy(claimed, &failure, shard.clock.now()).await;
        }
    }
    let run = realtime_run::RealtimeRun {
        claimed,
        route,
        has_realtime: model.is_some_and(has_realtime),
        provider: &*server.provider,
        limiter: &server.limiter,
    };
    let progress = run.run().await?;
    let now = shard.clock.now();
    if let Some(reason) = &progress.account_fault {
        pause_and_end(claimed, reason, now).await?;
    } else if is_flex {
        return end_flex(claimed, &progress, server).await;
    } else if progress.is_failing {
        let accounts = &claimed.deps.accounts;
        accounts.record_failure(name, "realtime requests are not answered");
        claimed.reschedule(now + SERVER_RETRY_DELAY).await?;
    } else {
        if progress.reports.is_empty() {
            provider::end_automatic_pause(shard, name).await?;
        }
        let end = BatchEnd::Requeue(RequeueTiming::AfterBackoff);
        claimed.end(end, now).await?;
    }
    Ok(progress.stored)
}

fn has_realtime(model: &Model) -> bool {
    let mut routes = model.routes.iter();
    routes.any(|route| route.via == InferenceMode::Realtime)
}

/// Ends a batch of flex requests. Its open cargo is requeued.
async fn end_flex(
    claimed: &ClaimedBatch,
    progress: &RealtimeProgress,
    server: &RealtimeServer,
) -> Result<usize, store::Error> {
    let (shard, name) = (claimed.shard(), &claimed.lane.provider);
    let now = shard.clock.now();
    if progress.is_failing {
        let accounts = &claimed.deps.accounts;
        accounts.record_failure(&claimed.account_key(), "flex requests are not answered");
    }
    if progress.stored > 0 && progress.reports.is_empty() {
        provider::end_automatic_pause(shard, name).await?;
    }
    let concurrency = server.limiter.lock().limit();
    let is_failing = progress.is_failing;
    flex::end_batch(claimed, &progress.flex, concurrency, is_failing, now).await?;
    Ok(progress.stored)
}

async fn handle_unhealthy(
    claimed: &ClaimedBatch,
    failure: &ProviderCallFailure,
    now: Timestamp,
) -> Result<usize, store::Error> {
    tracing::warn!(
        provider = claimed.lane.provider,
        failure = failure.diagnosis(),
        "the realtime server is unhealthy"
    );
    if matches!(
        failure,
        ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit
    ) {
        pause_and_end(claimed, &failure.to_string(), now).await?;
    } else if claimed.list_open().await?.is_empty() {
        let end = BatchEnd::Requeue(RequeueTiming::Immediately);
        claimed.end(end, now).await?;
    } else {
        claimed.reschedule(now + SERVER_RETRY_DELAY).await?;
    }
    Ok(0)
}

/// Pauses the account and requeues the open cargo.
async fn pause_and_end(
    claimed: &ClaimedBatch,
    reason: &str,
    now: Timestamp,
) -> Result<(), store::Error> {
    claimed.pause_account(reason, now).await?;
    let end = BatchEnd::Requeue(RequeueTiming::Immediately);
    claimed.end(end, now).await
}
