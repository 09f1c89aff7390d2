//! A group of limit checks: sent to Redis as one request, and answered one by one.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use outbound::rate_limits::{BucketRequest, RateLimitRequest, RateLimitResponse, WindowRequest};
use tokio::sync::oneshot;

use crate::rate_limit::local_buckets;
use crate::rate_limit::token::{BackstopExceeded, BucketStatus, RateLimitExceeded, RateLimitToken};
use crate::rate_limit::unsynced_tokens::{ReturnedTokens, TokenOrigin};

type TokenReply = oneshot::Sender<Result<RateLimitToken, RateLimitExceeded>>;
type CountReply = oneshot::Sender<Result<(), BackstopExceeded>>;

#[derive(Debug)]
pub(super) enum LimitCheck {
    Token(TokenCheck),
    Request(RequestCheck),
    /// Both for one load, so that it waits for one call.
    Load(TokenCheck, RequestCheck),
}

/// Takes a token of the organization.
#[derive(Debug)]
pub(super) struct TokenCheck {
    pub(super) organization: OrganizationId,
    pub(super) rate: RateLimit,
    pub(super) answer: TokenReply,
}

/// Counts a request of the project.
#[derive(Debug)]
pub(super) struct RequestCheck {
    pub(super) project: ProjectId,
    pub(super) answer: CountReply,
}

/// In order of arrival, with one entry for each organization and project.
#[derive(Debug, Default)]
pub(super) struct LimitCheckGroup {
    organization_index: HashMap<OrganizationId, usize>,
    token_replies: Vec<(OrganizationId, RateLimit, Vec<TokenReply>)>,
    project_index: HashMap<ProjectId, usize>,
    count_replies: Vec<(ProjectId, Vec<CountReply>)>,
    size: usize,
}

impl LimitCheckGroup {
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    pub(super) fn push(&mut self, check: LimitCheck) {
        match check {
            LimitCheck::Token(token) => self.push_token(token),
            LimitCheck::Request(request) => self.push_request(request),
            LimitCheck::Load(token, request) => {
                self.push_token(token);
                self.push_request(request);
            }
        }
    }

    fn push_token(&mut self, check: TokenCheck) {
        self.size += 1;
        let TokenCheck {
            organization,
            rate,
            answer,
        } = check;
        let next = self.token_replies.len();
        let index = *self.organization_index.entry(organization).or_insert(next);
        if index == next {
            self.token_replies.push((organization, rate, Vec::new()));
        }
        if let Some((_, last_rate, replies)) = self.token_replies.get_mut(index) {
            // The plan may have changed since the last check.
            *last_rate = rate;
            replies.push(answer);
        }
    }

    fn push_request(&mut self, check: RequestCheck) {
        self.size += 1;
        let RequestCheck { project, answer } = check;
        let next = self.count_replies.len();
        let index = *self.project_index.entry(project).or_insert(next);
        if index == next {
            self.count_replies.push((project, Vec::new()));
        }
        if let Some((_, replies)) = self.count_replies.get_mut(index) {
            replies.push(answer);
        }
    }

    pub(super) fn to_request(&self, now: Option<i64>, backstop: Backstop) -> RateLimitRequest {
        let buckets = self.token_replies.iter();
        let buckets = buckets.map(|(organization, rate, replies)| BucketRequest {
            organization: *organization,
            rate: *rate,
            requested: reply_count(replies),
            returned: 0,
            owed: 0,
        });
        let windows = self.count_replies.iter();
        let windows = windows.map(|(project, replies)| WindowRequest {
            project: *project,
            backstop,
            requested: reply_count(replies),
        });
        RateLimitRequest {
            now,
            buckets: buckets.collect(),
            windows: windows.collect(),
        }
    }

    /// Grants go in order of arrival. Each caller gets the bucket's level after its own token.
    pub(super) fn reply(
        self,
        grants: &RateLimitResponse,
        origin: TokenOrigin,
        nodes: u32,
        returns: &Arc<ReturnedTokens>,
    ) {
        let buckets = self.token_replies.into_iter().zip(&grants.buckets);
        for ((organization, rate, replies), grant) in buckets {
            let weight = match origin {
                TokenOrigin::Redis => 1,
                TokenOrigin::Local => local_buckets::request_weight(nodes, rate),
            };
            let last = BucketStatus {
                rate,
                level: grant.level,
                weight,
            };
            for (reply, turn) in replies.into_iter().zip(1..) {
                let answer = if turn <= grant.granted {
                    let status = last.with_returned(grant.granted - turn);
                    let returns = Arc::clone(returns);
                    Ok(RateLimitToken::new(organization, status, origin, returns))
                } else {
                    Err(RateLimitExceeded(last))
                };
                // If the caller has gone, its token is dropped here and returned.
                let _gone = reply.send(answer);
            }
        }
        let windows = self.count_replies.into_iter().zip(&grants.windows);
        for ((_, replies), granted) in windows {
            for (reply, turn) in replies.into_iter().zip(1..) {
                let is_granted = turn <= *granted;
                let _gone = reply.send(is_granted.then_some(()).ok_or(BackstopExceeded));
            }
        }
    }
}

fn reply_count<T>(replies: &[T]) -> u32 {
    u32::try_from(replies.len()).unwrap_or(u32::MAX)
}
