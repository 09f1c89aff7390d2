//! The task that answers all limit checks of a process.
//!
//! A check never waits for others to join its group. Checks arrive while a call runs,
//! and group commit lets callers arrive in waves. In measurements a dozen checks share
//! a call without waiting.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use domain::plan_limits::Backstop;
use outbound::rate_limits::{RateLimitRequest, RateLimitResponse};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::rate_limit::check_group::{LimitCheck, LimitCheckGroup};
use crate::rate_limit::circuit_breaker::{RedisCallResult, RedisCircuitBreaker, RedisEvent};
use crate::rate_limit::clock::LimiterClock;
use crate::rate_limit::local_buckets::LocalBuckets;
use crate::rate_limit::node_heartbeat::NodeHeartbeat;
use crate::rate_limit::redis_status::RedisStatus;
use crate::rate_limit::returned_tokens::{ReturnedTokens, TokenOrigin, TokenReturn};
use crate::rate_limit::unsynced_tokens::UnsyncedTokens;

const MAX_CHECKS_PER_CALL: usize = 1024;
/// How often Redis is tested while there are no calls.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LimiterTask {
    redis: Option<RedisCircuitBreaker>,
    backstop: Backstop,
    clock: LimiterClock,
    node_heartbeat: Arc<NodeHeartbeat>,
    redis_status: Arc<RedisStatus>,
    returned_tokens: Arc<ReturnedTokens>,
    local_buckets: LocalBuckets,
    unsynced_tokens: UnsyncedTokens,
}

impl LimiterTask {
    pub(super) fn new(
        line: Option<RedisCircuitBreaker>,
        backstop: Backstop,
        watch: LimiterClock,
        nodes: Arc<NodeHeartbeat>,
        status: Arc<RedisStatus>,
        returns: Arc<ReturnedTokens>,
    ) -> Self {
        Self {
            redis: line,
            backstop,
            clock: watch,
            node_heartbeat: nodes,
            redis_status: status,
            returned_tokens: returns,
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
                ask = checks.recv() => match ask {
                    Some(ask) => group.push(ask),
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
                && let Ok(ask) = checks.try_recv()
            {
                group.push(ask);
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

    async fn serve(&mut self, group: LimitCheckGroup) {
        for returned in self.returned_tokens.drain() {
            self.return_tokens(returned);
        }
        let mut request = group.to_request(self.clock.given_now(), self.backstop);
        metrics::counter!("longshore_rate_limit_checks_total", "kind" => "bucket")
            .increment(tokens_requested(&request));
        metrics::counter!("longshore_rate_limit_checks_total", "kind" => "backstop")
            .increment(requests_counted(&request));
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
        let nodes = self.node_heartbeat.alive_nodes();
        let grants = self.local_buckets.grant(request, nodes, self.clock.now());
        if self.redis.is_some() {
            for (ask, taken) in request.buckets.iter().zip(&grants.buckets) {
                self.unsynced_tokens
                    .add_spent(ask.organization, ask.rate, taken.granted);
            }
        }
        group.reply(&grants, TokenOrigin::Local, nodes, &self.returned_tokens);
    }

    fn copy_levels(&mut self, request: &RateLimitRequest, grants: &RateLimitResponse) {
        let now = self.clock.now();
        for (ask, taken) in request.buckets.iter().zip(&grants.buckets) {
            self.local_buckets
                .set_level(ask.organization, taken.level, now);
        }
    }

    fn return_tokens(&mut self, returned: TokenReturn) {
        let TokenReturn {
            organization,
            origin,
            rate,
            count,
        } = returned;
        match origin {
            TokenOrigin::Redis => self.unsynced_tokens.add_returned(organization, rate, count),
            TokenOrigin::Local => {
                let (nodes, now) = (self.node_heartbeat.alive_nodes(), self.clock.now());
                self.local_buckets
                    .return_tokens(organization, rate, count, nodes, now);
                if self.redis.is_some() {
                    self.unsynced_tokens.cancel_spent(organization, rate, count);
                }
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
    request
        .buckets
        .iter()
        .map(|ask| u64::from(ask.requested))
        .sum()
}

fn requests_counted(request: &RateLimitRequest) -> u64 {
    request
        .windows
        .iter()
        .map(|ask| u64::from(ask.requested))
        .sum()
}
