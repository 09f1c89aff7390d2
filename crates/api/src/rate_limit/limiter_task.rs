//! The task that answers all limit checks of a process. Without Redis it does not run, and each
//! check is answered in place.
//!
//! A check never waits for others to join its group. Checks arrive while a call runs,
//! and group commit lets callers arrive in waves. In measurements a dozen checks share
//! a call without waiting.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::plan_limits::Backstop;
use domain::time::Clock;
use outbound::rate_limits::{RateLimitRequest, RateLimitResponse, RedisRateLimiter};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::node_heartbeat::NodeHeartbeat;
use crate::rate_limit::RateLimiterOptions;
use crate::rate_limit::check_group::{LimitCheck, LimitCheckGroup};
use crate::rate_limit::circuit_breaker::{
    RedisCallResult, RedisCircuitBreaker, RedisEvent, RedisStatus,
};
use crate::rate_limit::local_buckets::LocalBuckets;
use crate::rate_limit::unsynced_tokens::{ReturnedTokens, TokenOrigin, UnsyncedTokens};

const MAX_CHECKS_PER_CALL: usize = 1024;
/// How often Redis is tested while there are no calls.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LimiterTask {
    redis: Option<RedisCircuitBreaker>,
    redis_status: Arc<RedisStatus>,
    backstop: Backstop,
    /// A clock for all buckets. Without it Redis uses its own, and this process the time since its
    /// start.
    clock: Option<Arc<dyn Clock>>,
    started: Instant,
    nodes: Arc<NodeHeartbeat>,
    returned_tokens: Arc<ReturnedTokens>,
    local_buckets: LocalBuckets,
    unsynced_tokens: UnsyncedTokens,
}

impl LimiterTask {
    pub(super) fn new(
        redis: Option<RedisRateLimiter>,
        nodes: Arc<NodeHeartbeat>,
        options: RateLimiterOptions,
        redis_status: Arc<RedisStatus>,
    ) -> Self {
        let breaker = |redis| {
            let status = Arc::clone(&redis_status);
            RedisCircuitBreaker::new(redis, options.redis_timeout, status)
        };
        Self {
            redis: redis.map(breaker),
            redis_status,
            backstop: options.backstop,
            clock: options.clock,
            started: Instant::now(),
            nodes,
            returned_tokens: Arc::default(),
            local_buckets: LocalBuckets::default(),
            unsynced_tokens: UnsyncedTokens::default(),
        }
    }

    pub(super) async fn run(
        mut self,
        mut checks: mpsc::Receiver<LimitCheck>,
        stop: CancellationToken,
    ) {
        if let Some(redis) = &mut self.redis {
            redis.connect().await;
        }
        let mut idle_check = interval(IDLE_CHECK_INTERVAL);
        idle_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut group = LimitCheckGroup::default();
            // Checks arrive all the time, so the rare events come before them.
            tokio::select! {
                biased;
                event = next_event(self.redis.as_mut()) => self.handle_event(event),
                () = self.returned_tokens.wait() => {}
                check = checks.recv() => match check {
                    Some(check) => group.push(check),
                    None => break,
                },
                // Redis is reachable, and more tokens are unsynced than one call takes.
                () = ready(()), if !self.unsynced_tokens.is_empty() && !self.is_local_only() => {}
                () = stop.cancelled() => break,
                _ = idle_check.tick() => if let Some(redis) = &mut self.redis {
                    redis.check_idle().await;
                },
            }
            while group.size() < MAX_CHECKS_PER_CALL
                && let Ok(check) = checks.try_recv()
            {
                group.push(check);
            }
            self.serve(group).await;
        }
        // The last returned tokens are reported before the task ends.
        self.serve(LimitCheckGroup::default()).await;
    }

    /// Whether checks are answered without Redis.
    fn is_local_only(&self) -> bool {
        self.redis.as_ref().is_none_or(RedisCircuitBreaker::is_open)
    }

    /// In microseconds, for Redis. Nothing means Redis's own clock.
    fn given_now(&self) -> Option<i64> {
        let clock = self.clock.as_ref()?;
        Some(clock.now().timestamp_micros())
    }

    /// In microseconds, for the buckets of this process.
    fn local_now(&self) -> i64 {
        let elapsed = || i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.given_now().unwrap_or_else(elapsed)
    }

    /// Answers one check without Redis, before this returns.
    pub(super) fn answer_in_place(&mut self, check: LimitCheck) {
        let mut group = LimitCheckGroup::default();
        group.push(check);
        let request = self.begin_request(&group);
        self.serve_locally(group, &request);
    }

    fn begin_request(&mut self, group: &LimitCheckGroup) -> RateLimitRequest {
        self.collect_returned_tokens();
        let request = group.to_request(self.given_now(), self.backstop);
        metrics::counter!("longshore_rate_limit_checks_total", "kind" => "bucket")
            .increment(tokens_requested(&request));
        metrics::counter!("longshore_rate_limit_checks_total", "kind" => "backstop")
            .increment(requests_counted(&request));
        request
    }

    async fn serve(&mut self, group: LimitCheckGroup) {
        let mut request = self.begin_request(&group);
        let Some(redis) = self.redis.as_mut().filter(|redis| !redis.is_open()) else {
            return self.serve_locally(group, &request);
        };
        self.unsynced_tokens.attach_to(&mut request);
        if request.is_empty() {
            return;
        }
        let request = Arc::new(request);
        match redis.call(Arc::clone(&request)).await {
            RedisCallResult::Answered(grants) => {
                self.copy_levels(&request, &grants);
                group.reply(&grants, TokenOrigin::Redis, 1, &self.returned_tokens);
            }
            RedisCallResult::Failed => {
                self.unsynced_tokens.restore(&request);
                self.serve_locally(group, &request);
            }
            RedisCallResult::TimedOut => self.serve_locally(group, &request),
        }
    }

    fn serve_locally(&mut self, group: LimitCheckGroup, request: &RateLimitRequest) {
        if group.size() == 0 {
            return;
        }
        self.redis_status
            .record_fallbacks(tokens_requested(request) + requests_counted(request));
        let (nodes, now) = (self.nodes.alive_nodes(), self.local_now());
        let grants = self.local_buckets.grant(request, nodes, now);
        if self.redis.is_some() {
            for (bucket, grant) in request.buckets.iter().zip(&grants.buckets) {
                self.unsynced_tokens
                    .add_spent(bucket.organization, bucket.rate, grant.granted);
            }
        }
        group.reply(&grants, TokenOrigin::Local, nodes, &self.returned_tokens);
    }

    fn copy_levels(&mut self, request: &RateLimitRequest, grants: &RateLimitResponse) {
        let now = self.local_now();
        for (bucket, grant) in request.buckets.iter().zip(&grants.buckets) {
            self.local_buckets
                .set_level(bucket.organization, grant.level, now);
        }
    }

    fn collect_returned_tokens(&mut self) {
        let (nodes, now) = (self.nodes.alive_nodes(), self.local_now());
        for ((organization, origin), (rate, count)) in self.returned_tokens.drain() {
            if origin == TokenOrigin::Redis {
                self.unsynced_tokens.add_returned(organization, rate, count);
                continue;
            }
            self.local_buckets
                .return_tokens(organization, rate, count, nodes, now);
            if self.redis.is_some() {
                self.unsynced_tokens.cancel_spent(organization, rate, count);
            }
        }
    }

    fn handle_event(&mut self, event: RedisEvent) {
        match event {
            // The next calls, which follow at once, report the unsynced tokens.
            RedisEvent::Recovered => {}
            RedisEvent::LateAnswer(request, Some(grants)) => {
                self.unsynced_tokens.return_late_grants(&request, &grants);
            }
            RedisEvent::LateAnswer(request, None) => self.unsynced_tokens.restore(&request),
        }
    }
}

async fn next_event(redis: Option<&mut RedisCircuitBreaker>) -> RedisEvent {
    match redis {
        Some(redis) => redis.next_event().await,
        None => std::future::pending().await,
    }
}

fn tokens_requested(request: &RateLimitRequest) -> u64 {
    let buckets = request.buckets.iter();
    buckets.map(|bucket| u64::from(bucket.requested)).sum()
}

fn requests_counted(request: &RateLimitRequest) -> u64 {
    let windows = request.windows.iter();
    windows.map(|window| u64::from(window.requested)).sum()
}
