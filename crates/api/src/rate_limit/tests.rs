//! The parts of the rate limiter: groups, unsynced tokens, and the task without Redis.

use std::sync::Arc;
use std::time::Duration;

use domain::id::{Berth, OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, RateLimit};
use domain::time::Timestamp;
use domain::token_bucket::{BucketLevel, UNITS_PER_REQUEST};
use outbound::rate_limits::{BucketRequest, BucketResponse, RateLimitRequest, RateLimitResponse};
use store::Control;
use store::control::node::ServingNode;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::check_group::LimitCheckGroup;
use super::unsynced_tokens::{ReturnedTokens, TokenOrigin, UnsyncedTokens};
use super::*;

const FREE: RateLimit = RateLimit {
    burst: 100,
    per_minute: 30,
};
const BACKSTOP: Backstop = Backstop {
    per_minute: 10,
    per_hour: 10,
};

fn organization(number: u64) -> OrganizationId {
    OrganizationId::new(Timestamp::default(), Berth::new(0).unwrap(), number)
}

fn level(requests: u64) -> BucketLevel {
    BucketLevel(requests * UNITS_PER_REQUEST)
}

fn taken(granted: u32, left: u64) -> BucketResponse {
    BucketResponse {
        granted,
        level: level(left),
    }
}

#[test]
fn grants_go_in_order_of_arrival_and_each_caller_sees_its_own_level() {
    let (mut group, returns) = (
        LimitCheckGroup::default(),
        Arc::new(ReturnedTokens::default()),
    );
    let mut answers = Vec::new();
    for turn in 0..6 {
        let (answer, answered) = oneshot::channel();
        group.push(LimitCheck::Token(TokenCheck {
            organization: organization(turn % 2),
            rate: FREE,
            answer,
        }));
        answers.push(answered);
    }
    let request = group.to_request(None, BACKSTOP);
    let wanted: Vec<_> = request.buckets.iter().map(|ask| ask.requested).collect();
    assert_eq!(wanted, [3, 3]);
    let grants = RateLimitResponse {
        buckets: vec![taken(2, 0), taken(3, 7)],
        windows: Vec::new(),
    };
    group.reply(&grants, TokenOrigin::Redis, 1, &returns);
    let result = |answered: &mut oneshot::Receiver<_>| match answered.try_recv().unwrap() {
        Ok::<RateLimitToken, RateLimitExceeded>(token) => {
            let left = token.bucket_status().level.requests(1);
            token.spend();
            Ok(left)
        }
        Err(RateLimitExceeded(status)) => Err(status.retry_after()),
    };
    let results: Vec<_> = answers.iter_mut().map(result).collect();
    assert_eq!(results, [Ok(1), Ok(9), Ok(0), Ok(8), Err(2), Ok(7)]);
    assert!(returns.drain().is_empty());
}

#[test]
fn a_token_is_returned_unless_it_is_spent() {
    let (mut group, returns) = (
        LimitCheckGroup::default(),
        Arc::new(ReturnedTokens::default()),
    );
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (answer, answered) = oneshot::channel();
        group.push(LimitCheck::Token(TokenCheck {
            organization: organization(1),
            rate: FREE,
            answer,
        }));
        answers.push(answered);
    }
    // One caller goes before the answer, one drops the token, one spends it.
    drop(answers.pop());
    let grants = RateLimitResponse {
        buckets: vec![taken(3, 97)],
        windows: Vec::new(),
    };
    group.reply(&grants, TokenOrigin::Local, 1, &returns);
    drop(answers.pop().unwrap().try_recv().unwrap().unwrap());
    let spent = answers.pop().unwrap().try_recv().unwrap().unwrap();
    spent.spend();
    let returned: Vec<_> = returns.drain().into_iter().collect();
    assert_eq!(
        returned,
        [((organization(1), TokenOrigin::Local), (FREE, 2))]
    );
    assert!(returns.drain().is_empty());
}

fn attached_deltas(pending: &mut UnsyncedTokens, request: &[BucketRequest]) -> Vec<(u32, u32)> {
    let mut request = RateLimitRequest {
        buckets: request.to_vec(),
        ..RateLimitRequest::default()
    };
    pending.attach_to(&mut request);
    let deltas = request.buckets.iter();
    deltas.map(|ask| (ask.returned, ask.owed)).collect()
}

fn bucket_request(number: u64) -> BucketRequest {
    BucketRequest {
        organization: organization(number),
        rate: FREE,
        requested: 1,
        returned: 0,
        owed: 0,
    }
}

#[test]
fn unsynced_tokens_are_sent_once() {
    let mut pending = UnsyncedTokens::default();
    pending.add_spent(organization(1), FREE, 5);
    pending.add_returned(organization(1), FREE, 2);
    pending.add_spent(organization(2), FREE, 7);
    // Taken locally and not spent. The second is more than is owed, so the rest is returned.
    pending.cancel_spent(organization(1), FREE, 1);
    pending.cancel_spent(organization(2), FREE, 9);
    let request = [bucket_request(1), bucket_request(3)];
    assert_eq!(
        attached_deltas(&mut pending, &request),
        [(2, 4), (0, 0), (2, 0)]
    );
    assert!(pending.is_empty());
    assert_eq!(attached_deltas(&mut pending, &request), [(0, 0), (0, 0)]);
}

#[test]
fn a_failed_call_is_restored_and_a_late_answer_grants_nothing() {
    let mut pending = UnsyncedTokens::default();
    let request = RateLimitRequest {
        buckets: vec![BucketRequest {
            returned: 1,
            owed: 6,
            ..bucket_request(1)
        }],
        ..RateLimitRequest::default()
    };
    pending.restore(&request);
    assert_eq!(
        attached_deltas(&mut pending, &[bucket_request(1)]),
        [(1, 6)]
    );
    let grants = RateLimitResponse {
        buckets: vec![taken(4, 90)],
        windows: Vec::new(),
    };
    pending.return_late_grants(&request, &grants);
    assert_eq!(
        attached_deltas(&mut pending, &[bucket_request(1)]),
        [(4, 0)]
    );
}

fn limiter() -> RateLimiter {
    limiter_with(None)
}

fn limiter_with(redis: Option<RedisRateLimiter>) -> RateLimiter {
    let nowhere = Control::connect_lazily("postgres://127.0.0.1:1/nowhere", 1).unwrap();
    let node = ServingNode {
        id: <_>::default(),
        name: "test".to_owned(),
    };
    let options = RateLimiterOptions {
        backstop: BACKSTOP,
        redis_timeout: Duration::from_millis(20),
        clock: None,
    };
    let nodes = Arc::new(NodeHeartbeat::new(nowhere, node));
    RateLimiter::new(redis, nodes, options)
}

#[tokio::test]
async fn without_redis_and_control_one_node_has_the_whole_limit() {
    let limiter = limiter();
    let mut tokens = Vec::new();
    let empty = loop {
        match limiter.take_token(organization(1), FREE).await {
            Ok(token) => tokens.push(token),
            Err(empty) => break empty,
        }
    };
    // Even on a slow machine the refill during the loop is far less than a burst.
    assert!((100..120).contains(&tokens.len()));
    assert!(matches!(empty.0.retry_after(), 1 | 2));
    tokens.truncate(10);
    assert!(limiter.take_token(organization(1), FREE).await.is_ok());
}

#[tokio::test]
async fn a_load_over_the_backstop_returns_its_token() {
    let limiter = limiter();
    let project = ProjectId::new(Timestamp::default(), Berth::new(0).unwrap(), 1);
    let mut left = 0;
    for _ in 0..BACKSTOP.per_hour {
        let admitted = limiter.admit_load(project, organization(1), FREE).await;
        let token = admitted.unwrap().unwrap();
        left = token.bucket_status().level.requests(1);
        token.spend();
    }
    for _ in 0..20 {
        let refused = limiter.admit_load(project, organization(1), FREE).await;
        assert!(refused.is_err());
    }
    let token = limiter.take_token(organization(1), FREE).await.unwrap();
    assert!(token.bucket_status().level.requests(1) >= left - 1);
}

#[tokio::test]
async fn after_the_task_has_ended_nothing_is_limited() {
    let redis = RedisRateLimiter::new("redis://127.0.0.1:1").unwrap();
    let (limiter, tracker) = (limiter_with(Some(redis)), TaskTracker::new());
    let stop = CancellationToken::new();
    limiter.spawn(&tracker, &stop);
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    for _ in 0..150 {
        let taken = limiter.take_token(organization(1), FREE).await;
        assert!(taken.is_ok());
    }
}
