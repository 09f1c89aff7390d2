//! The circuit breaker around Redis: one call at a time, each with a timeout.
//!
//! The first call that fails or times out opens the breaker. While it is open no check
//! waits for Redis. A background probe closes it when Redis answers in time again.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use outbound::rate_limits::{
    RateLimitRequest, RateLimitResponse, RateLimiterFailure, RedisRateLimiter,
};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

/// How often Redis is probed while the breaker is open.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// Longer than the timeout of a call, because of DNS and TLS.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Short, because checks wait for the first connection.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_millis(250);
/// How often the task yields before a call times out: for the socket, its reader, and once more.
const EXTRA_POLLS: u32 = 3;

#[derive(Debug)]
pub(super) struct RedisCircuitBreaker {
    client: Arc<RedisRateLimiter>,
    call_timeout: Duration,
    redis_status: Arc<RedisStatus>,
    is_open: bool,
    /// Whether there was a call since the last idle check.
    had_call: bool,
    /// Calls that timed out, and the probe while the breaker is open.
    background: JoinSet<RedisEvent>,
}

/// A result of the background tasks.
#[derive(Debug)]
pub(super) enum RedisEvent {
    /// Redis is reachable again.
    Recovered,
    /// A call that timed out has ended, with its answer if there is one.
    LateAnswer(Arc<RateLimitRequest>, Option<RateLimitResponse>),
}

/// The result of a call.
#[derive(Debug)]
pub(super) enum RedisCallResult {
    Answered(RateLimitResponse),
    /// Redis did not apply it.
    Failed,
    /// Redis may still apply it. An event follows.
    TimedOut,
}

impl RedisCircuitBreaker {
    pub(super) fn new(
        client: RedisRateLimiter,
        call_timeout: Duration,
        redis_status: Arc<RedisStatus>,
    ) -> Self {
        Self {
            client: Arc::new(client),
            call_timeout,
            redis_status,
            is_open: false,
            had_call: false,
            background: JoinSet::new(),
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) async fn connect(&mut self) {
        self.test_call(FIRST_CONNECT_TIMEOUT.max(self.call_timeout))
            .await;
    }

    /// Tests Redis after a quiet period, so that the breaker opens before a check has to wait.
    pub(super) async fn check_idle(&mut self) {
        if !self.is_open && !std::mem::take(&mut self.had_call) {
            self.test_call(self.call_timeout).await;
        }
    }

    pub(super) async fn call(&mut self, request: Arc<RateLimitRequest>) -> RedisCallResult {
        metrics::counter!("longshore_rate_limit_redis_calls_total").increment(1);
        self.had_call = true;
        let (client, started) = (Arc::clone(&self.client), Instant::now());
        let call_request = Arc::clone(&request);
        let mut calling = Box::pin(async move { client.apply(&call_request).await });
        match call_within(self.call_timeout, calling.as_mut()).await {
            Some(Ok(grants)) => {
                let latency = started.elapsed();
                metrics::histogram!("longshore_rate_limit_redis_call_duration_seconds")
                    .record(latency);
                self.redis_status.record_latency(latency);
                RedisCallResult::Answered(grants)
            }
            Some(Err(failure)) => {
                self.open(Some(&failure));
                RedisCallResult::Failed
            }
            None => {
                self.background
                    .spawn(async move { RedisEvent::LateAnswer(request, calling.await.ok()) });
                self.open(None);
                RedisCallResult::TimedOut
            }
        }
    }

    /// Waits for the next event, forever if no background task runs.
    pub(super) async fn next_event(&mut self) -> RedisEvent {
        loop {
            match self.background.join_next().await {
                Some(Ok(RedisEvent::Recovered)) => {
                    self.is_open = false;
                    self.redis_status.set_unreachable(false);
                    tracing::info!("Redis is reachable again");
                    return RedisEvent::Recovered;
                }
                Some(Ok(late)) => return late,
                // A task that panicked has no result.
                Some(Err(_)) => {}
                None => return std::future::pending().await,
            }
        }
    }

    async fn test_call(&mut self, time_limit: Duration) {
        let (client, started) = (Arc::clone(&self.client), Instant::now());
        match call_within(time_limit, pin!(client.check_script())).await {
            Some(Ok(())) => self.redis_status.record_latency(started.elapsed()),
            Some(Err(failure)) => self.open(Some(&failure)),
            None => self.open(None),
        }
    }

    fn open(&mut self, failure: Option<&RateLimiterFailure>) {
        self.is_open = true;
        self.redis_status.set_unreachable(true);
        if let Some(failure) = failure {
            let error = failure as &dyn std::error::Error;
            tracing::warn!(error, "Redis failed; this process limits on its own");
        } else {
            let milliseconds = self.call_timeout.as_millis();
            tracing::warn!(
                milliseconds,
                "Redis timed out; this process limits on its own"
            );
        }
        let (client, call_timeout) = (Arc::clone(&self.client), self.call_timeout);
        self.background.spawn(async move {
            wait_until_recovered(&client, call_timeout).await;
            RedisEvent::Recovered
        });
    }
}

/// The result of a call within its timeout.
///
/// If this process itself was delayed, the answer may have arrived without being read yet.
/// Other ready tasks are polled a few times before the call counts as timed out.
async fn call_within<T>(
    time_limit: Duration,
    mut calling: Pin<&mut (impl Future<Output = T> + ?Sized)>,
) -> Option<T> {
    if let Ok(answer) = timeout(time_limit, calling.as_mut()).await {
        return Some(answer);
    }
    for _ in 0..EXTRA_POLLS {
        yield_now().await;
        if let Poll::Ready(answer) =
            poll_fn(|context| Poll::Ready(calling.as_mut().poll(context))).await
        {
            return Some(answer);
        }
    }
    None
}

/// Returns when Redis answers on a new connection within the timeout.
async fn wait_until_recovered(client: &RedisRateLimiter, call_timeout: Duration) {
    loop {
        client.disconnect();
        sleep(PROBE_INTERVAL).await;
        let connected = timeout(RECONNECT_TIMEOUT.max(call_timeout), client.check_script()).await;
        if matches!(connected, Ok(Ok(())))
            && matches!(
                timeout(call_timeout, client.check_script()).await,
                Ok(Ok(()))
            )
        {
            return;
        }
    }
}

/// The result of the last call to Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisReachability {
    Unknown,
    Reachable { latency: Duration },
    Unreachable,
}

const NEVER: u64 = u64::MAX;

/// Whether Redis is reachable, for `/ready` and the metrics.
#[derive(Debug)]
pub(super) struct RedisStatus {
    is_configured: bool,
    is_unreachable: AtomicBool,
    /// Microseconds of the last call.
    latency_micros: AtomicU64,
    fallbacks: AtomicU64,
}

impl RedisStatus {
    pub(super) fn new(is_configured: bool) -> Self {
        let status = Self {
            is_configured,
            is_unreachable: AtomicBool::new(false),
            latency_micros: AtomicU64::new(NEVER),
            fallbacks: AtomicU64::new(0),
        };
        status.set_unreachable(false);
        status
    }

    pub(super) fn reachability(&self) -> Option<RedisReachability> {
        let latency = self.latency_micros.load(Ordering::Relaxed);
        let reachability = if self.is_unreachable.load(Ordering::Relaxed) {
            RedisReachability::Unreachable
        } else if latency == NEVER {
            RedisReachability::Unknown
        } else {
            let latency = Duration::from_micros(latency);
            RedisReachability::Reachable { latency }
        };
        self.is_configured.then_some(reachability)
    }

    pub(super) fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    /// Counts checks that were answered locally.
    pub(super) fn record_fallbacks(&self, checks: u64) {
        if self.is_configured {
            self.fallbacks.fetch_add(checks, Ordering::Relaxed);
            metrics::counter!("longshore_rate_limit_fallback_checks_total").increment(checks);
        }
    }

    fn record_latency(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(NEVER - 1);
        self.latency_micros.store(micros, Ordering::Relaxed);
    }

    fn set_unreachable(&self, is_unreachable: bool) {
        self.is_unreachable.store(is_unreachable, Ordering::Relaxed);
        let open = f64::from(u8::from(is_unreachable));
        metrics::gauge!("longshore_rate_limit_circuit_breaker_open").set(open);
    }
}
