//! The rate limiter of loads: a token bucket for each organization, a backstop for each project.
//! `route_limits` limits the other routes.
//!
//! One task per process checks the limits of all waiting loads in one call to Redis.
//! While a call runs, the next group of checks collects. When Redis does not answer
//! within the timeout, the task answers from local buckets, which hold this process's
//! share of the limit. It does so until a probe finds Redis reachable again, and then
//! reports to Redis the tokens that were spent meanwhile. If Redis is not configured,
//! there is no task: each check is answered in place.

use std::sync::Arc;
use std::time::Duration;

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use domain::time::Clock;
use outbound::rate_limits::RedisRateLimiter;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::node_heartbeat::NodeHeartbeat;
use crate::rate_limit::check_group::{LimitCheck, RequestCheck, TokenCheck};
use crate::rate_limit::circuit_breaker::RedisStatus;
use crate::rate_limit::limiter_task::LimiterTask;

mod check_group;
mod circuit_breaker;
mod limiter_task;
mod local_buckets;
mod route_limits;
mod token;
mod unsynced_tokens;

pub use circuit_breaker::RedisReachability;
pub use route_limits::RouteLimits;
pub(crate) use route_limits::{RouteLimiter, too_many_resends};
pub(crate) use token::{BackstopExceeded, BucketStatus, RateLimitExceeded, RateLimitToken};

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
    checker: LimitChecker,
    redis_status: Arc<RedisStatus>,
}

#[derive(Debug)]
enum LimitChecker {
    /// Redis is not configured.
    InPlace(Box<Mutex<LimiterTask>>),
    Task {
        checks: mpsc::Sender<LimitCheck>,
        unstarted: Box<Mutex<Option<UnstartedTask>>>,
    },
}

/// The task before it starts.
#[derive(Debug)]
struct UnstartedTask {
    task: LimiterTask,
    checks: mpsc::Receiver<LimitCheck>,
}

impl RateLimiter {
    /// `nodes` knows with how many processes the limits are shared without Redis.
    pub(crate) fn new(
        redis: Option<RedisRateLimiter>,
        nodes: Arc<NodeHeartbeat>,
        options: RateLimiterOptions,
    ) -> Self {
        let has_redis = redis.is_some();
        let redis_status = Arc::new(RedisStatus::new(has_redis));
        let task = LimiterTask::new(redis, nodes, options, Arc::clone(&redis_status));
        let checker = if has_redis {
            let (sender, checks) = mpsc::channel(MAX_QUEUED_CHECKS);
            LimitChecker::Task {
                checks: sender,
                unstarted: Box::new(Mutex::new(Some(UnstartedTask { task, checks }))),
            }
        } else {
            LimitChecker::InPlace(Box::new(Mutex::new(task)))
        };
        Self {
            checker,
            redis_status,
        }
    }

    /// Starts the task. Cancel `stop` after the last request.
    pub(crate) fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let LimitChecker::Task { unstarted, .. } = &self.checker else {
            return;
        };
        let unstarted = unstarted.lock().take();
        if let Some(UnstartedTask { task, checks }) = unstarted {
            tracker.spawn(task.run(checks, stop.clone()));
        }
    }

    /// Counts a load of the project against the backstop, and takes a token of the organization for
    /// it. One call answers both.
    pub(crate) async fn admit_load(
        &self,
        project: ProjectId,
        organization: OrganizationId,
        rate: RateLimit,
    ) -> Result<Result<RateLimitToken, RateLimitExceeded>, BackstopExceeded> {
        let (token_check, taken) = check_token(organization, rate);
        let (request_check, counted) = check_request(project);
        self.check(LimitCheck::Load(token_check, request_check))
            .await;
        // If it is refused, the token is dropped, and so returned.
        counted.await.unwrap_or(Ok(()))?;
        let unlimited = || Ok(RateLimitToken::without_bucket(organization, rate));
        Ok(taken.await.unwrap_or_else(|_| unlimited()))
    }

    /// Counts a load of the project against the backstop.
    pub(crate) async fn count_request(&self, project: ProjectId) -> Result<(), BackstopExceeded> {
        let (check, counted) = check_request(project);
        self.check(LimitCheck::Request(check)).await;
        counted.await.unwrap_or(Ok(()))
    }

    /// Takes a token of the organization. It is returned unless the load is stored.
    pub(crate) async fn take_token(
        &self,
        organization: OrganizationId,
        rate: RateLimit,
    ) -> Result<RateLimitToken, RateLimitExceeded> {
        let (check, taken) = check_token(organization, rate);
        self.check(LimitCheck::Token(check)).await;
        let unlimited = || Ok(RateLimitToken::without_bucket(organization, rate));
        taken.await.unwrap_or_else(|_| unlimited())
    }

    /// If the task has ended because the process is shutting down, the check is dropped, and
    /// nothing is limited.
    async fn check(&self, check: LimitCheck) {
        match &self.checker {
            LimitChecker::InPlace(limiter) => limiter.lock().answer_in_place(check),
            LimitChecker::Task { checks, .. } => {
                let _ended = checks.send(check).await;
            }
        }
    }

    /// How many checks were answered locally although Redis is configured.
    pub fn fallbacks(&self) -> u64 {
        self.redis_status.fallbacks()
    }

    /// Whether Redis answered the last call; nothing when Redis is not configured.
    pub fn redis_reachability(&self) -> Option<RedisReachability> {
        self.redis_status.reachability()
    }
}

fn check_token(
    organization: OrganizationId,
    rate: RateLimit,
) -> (
    TokenCheck,
    oneshot::Receiver<Result<RateLimitToken, RateLimitExceeded>>,
) {
    let (answer, answered) = oneshot::channel();
    let check = TokenCheck {
        organization,
        rate,
        answer,
    };
    (check, answered)
}

fn check_request(
    project: ProjectId,
) -> (
    RequestCheck,
    oneshot::Receiver<Result<(), BackstopExceeded>>,
) {
    let (answer, answered) = oneshot::channel();
    (RequestCheck { project, answer }, answered)
}

#[cfg(test)]
mod tests;
