//! One request to the rate limiter and its response.

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use domain::token_bucket::BucketLevel;
use redis::{Script, ScriptInvocation};

use super::RateLimiterFailure;

/// All loads that wait together.
#[derive(Debug, Clone, Default)]
pub struct RateLimitRequest {
    /// In microseconds. None: the clock of Redis.
    pub now: Option<i64>,
    pub buckets: Vec<BucketRequest>,
    pub windows: Vec<WindowRequest>,
}

/// One organization's token bucket. The script first adds returned tokens, then takes owed
/// ones, then takes as many of the requested ones as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketRequest {
    pub organization: OrganizationId,
    pub rate: RateLimit,
    pub requested: u32,
    pub returned: u32,
    pub owed: u32,
}

/// One project's windows of a minute and an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRequest {
    pub project: ProjectId,
    pub backstop: Backstop,
    pub requested: u32,
}

/// In the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitResponse {
    pub buckets: Vec<BucketResponse>,
    pub windows: Vec<u32>,
}

/// The granted tokens and the level of the bucket afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketResponse {
    pub granted: u32,
    pub level: BucketLevel,
}

impl RateLimitRequest {
    pub const fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.windows.is_empty()
    }

    pub(super) fn script_invocation<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        match self.now {
            Some(now) => call.arg(now),
            None => call.arg(""),
        };
        call.arg(self.buckets.len());
        for ask in &self.buckets {
            call.key(bucket_key(ask.organization));
            call.arg(ask.rate.burst).arg(ask.rate.per_minute);
            call.arg(ask.requested).arg(ask.returned).arg(ask.owed);
        }
        for ask in &self.windows {
            call.key(window_key(ask.project));
            call.arg(ask.backstop.per_minute);
            call.arg(ask.backstop.per_hour).arg(ask.requested);
        }
        call
    }

    pub(super) fn parse_response(
        &self,
        answer: &[i64],
    ) -> Result<RateLimitResponse, RateLimiterFailure> {
        let (buckets, windows) = answer
            .split_at_checked(2 * self.buckets.len())
            .filter(|(_, windows)| windows.len() == self.windows.len())
            .ok_or(RateLimiterFailure::UnexpectedResponse)?;
        let buckets = buckets.chunks_exact(2).map(|pair| match pair {
            [granted, level] => Ok(BucketResponse {
                granted: parse_integer(*granted)?,
                level: BucketLevel(parse_integer(*level)?),
            }),
            _ => Err(RateLimiterFailure::UnexpectedResponse),
        });
        Ok(RateLimitResponse {
            buckets: buckets.collect::<Result<_, _>>()?,
            windows: windows
                .iter()
                .map(|granted| parse_integer(*granted))
                .collect::<Result<_, _>>()?,
        })
    }
}

pub(super) fn bucket_key(organization: OrganizationId) -> String {
    format!("b:{}", organization.uuid().simple())
}

pub(super) fn window_key(project: ProjectId) -> String {
    format!("w:{}", project.uuid().simple())
}

fn parse_integer<T: TryFrom<i64>>(number: i64) -> Result<T, RateLimiterFailure> {
    T::try_from(number).map_err(|_| RateLimiterFailure::UnexpectedResponse)
}
