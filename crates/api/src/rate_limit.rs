//! The rate limiter of loads: a token bucket for each organization, a backstop for each project.
//!
//! One task per process checks the limits of all waiting loads in one call to Redis.
//! While a call runs, the next group of checks collects. When Redis does not answer
//! within the timeout, the task answers from local buckets, which hold this process's
//! share of the limit. It does so until a probe finds Redis reachable again, and then
//! reports to Redis the tokens that were spent meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use domain::time::Clock;
use outbound::rate_limits::RedisRateLimiter;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rate_limit::check_group::LimitCheck;
use crate::rate_limit::circuit_breaker::RedisCircuitBreaker;
use crate::rate_limit::clock::LimiterClock;
use crate::rate_limit::limiter_task::LimiterTask;
use crate::rate_limit::redis_status::RedisStatus;
use crate::rate_limit::returned_tokens::ReturnedTokens;

mod bucket_status;
mod check_group;
mod circuit_breaker;
mod clock;
mod errors;
mod limiter_task;
mod local_buckets;
mod node_heartbeat;
mod redis_status;
mod returned_tokens;
mod token;
mod unsynced_tokens;

pub(crate) use bucket_status::BucketStatus;
pub(crate) use errors::{BackstopExceeded, RateLimitExceeded};
pub(crate) use node_heartbeat::NodeHeartbeat;
pub use redis_status::RedisReachability;
pub(crate) use token::RateLimitToken;

/// Checks that may wait for the task. Further callers wait until there is room.
const MAX_QUEUED_CHECKS: usize = 8192;

/// The rate limiter's settings.
#[derive(Debug, Clone)]
pub struct RateLimiterOptions {
    pub backstop: Backstop,
    /// How long a call to Redis may take.
    pub redis_timeout: Duration,
    /// A clock for all buckets instead of Redis's own, for tests and trials.
    pub clock: Option<Arc<dyn Clock>>,
}

/// Decides whether a load is within its limits.
#[derive(Debug)]
pub struct RateLimiter {
    checks: mpsc::Sender<LimitCheck>,
    task: Mutex<Option<(LimiterTask, mpsc::Receiver<LimitCheck>)>>,
    redis_status: Arc<RedisStatus>,
    node_heartbeat: Arc<NodeHeartbeat>,
}

impl RateLimiter {
    pub(crate) fn new(
        counters: Option<RedisRateLimiter>,
        nodes: NodeHeartbeat,
        options: RateLimiterOptions,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_CHECKS);
        let (nodes, status) = (
            Arc::new(nodes),
            Arc::new(RedisStatus::new(counters.is_some())),
        );
        let redis = counters
            .map(|redis| RedisCircuitBreaker::new(redis, options.redis_timeout, status.clone()));
        let task = LimiterTask::new(
            redis,
            options.backstop,
            LimiterClock::new(options.clock),
            nodes.clone(),
            status.clone(),
            Arc::new(ReturnedTokens::default()),
        );
        Self {
            checks: sender,
            task: Mutex::new(Some((task, receiver))),
            redis_status: status,
            node_heartbeat: nodes,
        }
    }

    /// Starts the task and the heartbeats. Cancel `stop` after the last request.
    pub(crate) fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((task, receiver)) = task {
            tracker.spawn(task.run(receiver, stop.clone()));
            let (nodes, stopped) = (self.node_heartbeat.clone(), stop.clone());
            tracker.spawn(async move { nodes.run(stopped).await });
        }
    }

    /// Counts a load of the project against the backstop.
    pub(crate) async fn count_request(&self, project: ProjectId) -> Result<(), BackstopExceeded> {
        let (answer, answered) = oneshot::channel();
        let ask = LimitCheck::CountRequest { project, answer };
        match self.checks.send(ask).await {
            Ok(()) => answered.await.unwrap_or(Ok(())),
            // The task has ended because the process is shutting down, so nothing is limited.
            Err(_) => Ok(()),
        }
    }

    /// Takes a token of the organization. It is returned unless the load is stored.
    pub(crate) async fn take_token(
        &self,
        organization: OrganizationId,
        rate: RateLimit,
    ) -> Result<RateLimitToken, RateLimitExceeded> {
        let (answer, answered) = oneshot::channel();
        let ask = LimitCheck::TakeToken {
            organization,
            rate,
            answer,
        };
        let sent = self.checks.send(ask).await;
        let answered = match sent {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        answered.unwrap_or_else(|| Ok(RateLimitToken::without_bucket(organization, rate)))
    }

    /// How many checks were answered locally although Redis is configured.
    pub fn fallbacks(&self) -> u64 {
        self.redis_status.fallbacks()
    }

    /// Whether Redis answered the last call; nothing when Redis is not configured.
    pub fn redis_reachability(&self) -> Option<RedisReachability> {
        self.redis_status.reachability()
    }

    /// The number of serving processes, as of the last heartbeat.
    pub fn alive_nodes(&self) -> u32 {
        self.node_heartbeat.alive_nodes()
    }

    /// Sends one heartbeat. The background task sends one every two seconds.
    pub async fn send_heartbeat(&self) {
        self.node_heartbeat.send_heartbeat().await;
    }
}

#[cfg(test)]
mod tests;
