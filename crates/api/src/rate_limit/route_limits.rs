//! Rate limits of all authenticated routes but load: token buckets for each project, and for each
//! audit log.
//!
//! They stop loops before these reach a database, far above what an honest caller sends. Each
//! process counts alone, so no request waits for Redis.

use std::sync::Arc;
use std::time::Instant;

use axum::http::header::RETRY_AFTER;
use axum::http::{Method, StatusCode};
use domain::id::{CargoId, OrganizationId, ProjectId};
use domain::plan_limits::RateLimit;
use domain::request_buckets::{RequestBuckets, RequestLimitExceeded};
use domain::time::Clock;

use crate::api_error::{ApiError, ErrorCode};

/// Pages of an organization's audit log per minute, with all its tokens. All organizations share
/// the database, and a page holds a thousand entries.
const AUDIT_READS_PER_MINUTE: u32 = 60;

/// Answers of `GET /whoami` per project and minute, because they read control.
const IDENTITY_READS_PER_MINUTE: u32 = 60;
/// Resends of one callback: one per second.
const RESEND_RATE: RateLimit = RateLimit {
    burst: 1,
    per_minute: 60,
};
/// Estimates per organization: ten per second. Each may check a thousand loads, and an organization
/// may have many projects.
const ESTIMATE_RATE: RateLimit = RateLimit {
    burst: 10,
    per_minute: 600,
};

/// Requests per project and minute. A minute's requests may come at once.
#[derive(Debug, Clone, Copy)]
pub struct RouteLimits {
    /// Tracking, lists, models, groups, and reading files.
    pub reads_per_minute: u32,
    /// Creating, completing, changing and deleting files: each locks rows, and most of them call
    /// the object store. Resending, cancelling, groups, and all other requests that change something but
    /// loads, count as well.
    pub file_writes_per_minute: u32,
}

#[derive(Debug)]
pub(crate) struct RouteLimiter {
    reads: RequestBuckets<ProjectId>,
    file_writes: RequestBuckets<ProjectId>,
    /// None is the log of the whole service.
    audit_reads: RequestBuckets<Option<OrganizationId>>,
    identity_reads: RequestBuckets<ProjectId>,
    resends: RequestBuckets<(ProjectId, CargoId)>,
    estimates: RequestBuckets<OrganizationId>,
    /// For tests. Otherwise the time since the start.
    clock: Option<Arc<dyn Clock>>,
    started: Instant,
}

impl RouteLimiter {
    pub(crate) fn new(limits: RouteLimits, clock: Option<Arc<dyn Clock>>) -> Self {
        Self {
            reads: RequestBuckets::new(limits.reads_per_minute),
            file_writes: RequestBuckets::new(limits.file_writes_per_minute),
            audit_reads: RequestBuckets::new(AUDIT_READS_PER_MINUTE),
            identity_reads: RequestBuckets::new(IDENTITY_READS_PER_MINUTE),
            resends: RequestBuckets::with_rate(RESEND_RATE),
            estimates: RequestBuckets::with_rate(ESTIMATE_RATE),
            clock,
            started: Instant::now(),
        }
    }

    /// Counts a request of the project. All methods but `GET` write.
    pub(crate) fn count_request(
        &self,
        project: ProjectId,
        method: &Method,
    ) -> Result<(), RequestLimitExceeded> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let buckets = if is_read {
            &self.reads
        } else {
            &self.file_writes
        };
        buckets.take(project, self.now())
    }

    /// Counts a request for a page of the audit log of one organization, or of the whole service.
    pub(crate) fn count_audit_read(
        &self,
        log: Option<OrganizationId>,
    ) -> Result<(), RequestLimitExceeded> {
        self.audit_reads.take(log, self.now())
    }

    pub(crate) fn count_identity_read(
        &self,
        project: ProjectId,
    ) -> Result<(), RequestLimitExceeded> {
        self.identity_reads.take(project, self.now())
    }

    /// Counts a resend of the callback of one cargo.
    pub(crate) fn count_resend(&self, project: ProjectId, cargo: CargoId) -> Result<(), ApiError> {
        let counted = self.resends.take((project, cargo), self.now());
        counted.map_err(|exceeded| too_many_resends(exceeded.retry_after_seconds))
    }

    pub(crate) fn count_estimate(
        &self,
        organization: OrganizationId,
    ) -> Result<(), RequestLimitExceeded> {
        self.estimates.take(organization, self.now())
    }

    fn now(&self) -> i64 {
        let elapsed = || i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        let clock = self.clock.as_ref();
        clock.map_or_else(elapsed, |clock| clock.now().timestamp_micros())
    }
}

pub(crate) fn too_many_resends(seconds: u64) -> ApiError {
    let message = format!(
        "This callback was resent less than a second ago. At most one resend per cargo and second \
         is accepted. Retry in {seconds} s."
    );
    ApiError::with_code(ErrorCode::RateLimitExceeded, message)
        .with_field("retry_after_seconds", seconds)
        .with_header(RETRY_AFTER, seconds.into())
}

impl From<RequestLimitExceeded> for ApiError {
    /// The text of the backstop: this limit does not depend on the plan either.
    fn from(exceeded: RequestLimitExceeded) -> Self {
        let detail = "Too many requests from this project. Please slow down.";
        Self::with_text(StatusCode::TOO_MANY_REQUESTS, detail)
            .with_header(RETRY_AFTER, exceeded.retry_after_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use domain::id::Berth;

    use super::*;

    #[test]
    fn m8_each_project_has_its_own_buckets_for_reads_and_writes() {
        let limiter = RouteLimiter::new(
            RouteLimits {
                reads_per_minute: 60,
                file_writes_per_minute: 6,
            },
            None,
        );
        let berth = Berth::new(0).unwrap();
        let project = |number| ProjectId::new(<_>::default(), berth, number);
        let accepted = |buckets: &RequestBuckets<ProjectId>, by, now| {
            let taken = (0..100).map(|_| buckets.take(project(by), now));
            taken.flatten().count()
        };
        assert_eq!(accepted(&limiter.reads, 1, 0), 60);
        assert_eq!(accepted(&limiter.reads, 2, 0), 60);
        assert_eq!(accepted(&limiter.file_writes, 1, 0), 6);
        let refused = limiter.file_writes.take(project(1), 1);
        let expected = RequestLimitExceeded {
            retry_after_seconds: 10,
        };
        assert_eq!(refused, Err(expected));
        // Ten seconds refill ten reads and one write.
        assert_eq!(accepted(&limiter.reads, 1, 10_000_000), 10);
        assert_eq!(accepted(&limiter.file_writes, 1, 10_000_000), 1);
    }

    #[test]
    fn all_tokens_of_an_audit_log_share_its_bucket() {
        let limits = RouteLimits {
            reads_per_minute: 1,
            file_writes_per_minute: 1,
        };
        let limiter = RouteLimiter::new(limits, None);
        let berth = Berth::new(0).unwrap();
        let organization = OrganizationId::new(<_>::default(), berth, 1);
        for log in [None, Some(organization)] {
            let accepted = (0..100).map(|_| limiter.audit_reads.take(log, 0));
            assert_eq!(accepted.flatten().count(), 60);
        }
    }
}
