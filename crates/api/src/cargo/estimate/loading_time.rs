//! How long the plan's rate limit makes loads take.

use crate::caller::Caller;
use crate::rate_limit::RateLimitExceeded;
use crate::state::App;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoadingTime {
    pub(super) seconds: u64,
    /// Whether not even one load would be accepted now.
    pub(super) is_limited: bool,
}

/// Reads the bucket by taking a token and returning it at once, as a refused load does.
pub(super) async fn find(app: &App, caller: &Caller, loads: usize) -> LoadingTime {
    if loads == 0 {
        return LoadingTime::default();
    }
    let rate = app.plan_limits.borrow().for_plan(caller.plan).rate;
    let token = app.limiter.take_token(caller.organization, rate).await;
    let (status, is_limited) = match token {
        Ok(token) => (token.bucket_status().with_returned(1), false),
        Err(RateLimitExceeded(status)) => (status, true),
    };
    let loads = u64::try_from(loads).unwrap_or(u64::MAX);
    let seconds = status.level.seconds_for(loads, status.rate, status.weight);
    LoadingTime {
        seconds,
        is_limited,
    }
}
