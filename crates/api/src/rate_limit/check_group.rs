//! A group of limit checks: sent to Redis as one request, and answered one by one.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use outbound::rate_limits::{BucketRequest, RateLimitRequest, RateLimitResponse, WindowRequest};
use tokio::sync::oneshot;

use crate::rate_limit::bucket_status::BucketStatus;
use crate::rate_limit::errors::{BackstopExceeded, RateLimitExceeded};
use crate::rate_limit::local_buckets;
use crate::rate_limit::returned_tokens::{ReturnedTokens, TokenOrigin};
use crate::rate_limit::token::RateLimitToken;

type TokenReply = oneshot::Sender<Result<RateLimitToken, RateLimitExceeded>>;
type CountReply = oneshot::Sender<Result<(), BackstopExceeded>>;

#[derive(Debug)]
pub(super) enum LimitCheck {
    TakeToken {
        organization: OrganizationId,
        rate: RateLimit,
        answer: TokenReply,
    },
    CountRequest {
        project: ProjectId,
        answer: CountReply,
    },
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

    pub(super) fn push(&mut self, ask: LimitCheck) {
        self.size += 1;
        match ask {
            LimitCheck::TakeToken {
                organization,
                rate,
                answer,
            } => {
                let next = self.token_replies.len();
                let place = *self.organization_index.entry(organization).or_insert(next);
                if place == next {
                    self.token_replies.push((organization, rate, Vec::new()));
                }
                if let Some((_, its_rate, takers)) = self.token_replies.get_mut(place) {
                    // The plan may have changed since the last check.
                    *its_rate = rate;
                    takers.push(answer);
                }
            }
            LimitCheck::CountRequest { project, answer } => {
                let next = self.count_replies.len();
                let place = *self.project_index.entry(project).or_insert(next);
                if place == next {
                    self.count_replies.push((project, Vec::new()));
                }
                if let Some((_, counted)) = self.count_replies.get_mut(place) {
                    counted.push(answer);
                }
            }
        }
    }

    pub(super) fn to_request(&self, now: Option<i64>, backstop: Backstop) -> RateLimitRequest {
        let buckets = self.token_replies.iter();
        let buckets = buckets.map(|(organization, rate, takers)| BucketRequest {
            organization: *organization,
            rate: *rate,
            requested: reply_count(takers),
            returned: 0,
            owed: 0,
        });
        let windows = self
            .count_replies
            .iter()
            .map(|(project, counted)| WindowRequest {
                project: *project,
                backstop,
                requested: reply_count(counted),
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
        for ((organization, rate, takers), taken) in
            self.token_replies.into_iter().zip(&grants.buckets)
        {
            let weight = match origin {
                TokenOrigin::Redis => 1,
                TokenOrigin::Local => local_buckets::request_weight(nodes, rate),
            };
            let last = BucketStatus {
                rate,
                level: taken.level,
                weight,
            };
            for (taker, turn) in takers.into_iter().zip(1..) {
                let answer = if turn <= taken.granted {
                    let standing = last.with_returned(taken.granted - turn);
                    let returns = Arc::clone(returns);
                    Ok(RateLimitToken::new(organization, standing, origin, returns))
                } else {
                    Err(RateLimitExceeded(last))
                };
                // If the caller has gone, its token is dropped here and returned.
                let _gone = taker.send(answer);
            }
        }
        for ((_, counted), granted) in self.count_replies.into_iter().zip(&grants.windows) {
            for (counted, turn) in counted.into_iter().zip(1..) {
                let answer = if turn <= *granted {
                    Ok(())
                } else {
                    Err(BackstopExceeded)
                };
                let _gone = counted.send(answer);
            }
        }
    }
}

fn reply_count<T>(waiting: &[T]) -> u32 {
    u32::try_from(waiting.len()).unwrap_or(u32::MAX)
}
