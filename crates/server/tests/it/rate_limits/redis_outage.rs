//! Redis wiped, killed and frozen: each node enforces its share, and the limits are exact
//! afterwards.

use std::time::{Duration, Instant};

use api::App;
use api::node_heartbeat::NodeHeartbeat;
use api::rate_limit::{RateLimiter, RedisReachability};
use domain::organization::Plan;
use test_support::redis::RedisServer;

use crate::rate_limits::{ServeNodes, count_accepted};
use crate::support::Customer;
use crate::support::test_limits::TestLimits;

/// The longest wait for a frozen Redis. A call on a busy machine takes less.
const CALL_BUDGET: Duration = Duration::from_millis(750);
/// Recovery takes five seconds, and longer on a busy machine.
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// Two nodes that know each other and are connected to Redis.
async fn start_nodes(limited: TestLimits) -> ServeNodes {
    let nodes = ServeNodes::new(limited).await;
    let began = Instant::now();
    // The first heartbeat of the first node came before the second node existed.
    let heartbeats = [&nodes.service.app, &nodes.other].map(App::node_heartbeat);
    while heartbeats.map(NodeHeartbeat::alive_nodes) != [2, 2] {
        assert!(began.elapsed() < RECOVERY_TIMEOUT);
        for heartbeat in heartbeats {
            heartbeat.send_heartbeat().await;
        }
    }
    wait_until_connected(&nodes).await;
    nodes
}

fn limiters(nodes: &ServeNodes) -> [&RateLimiter; 2] {
    [nodes.service.app.limiter(), nodes.other.limiter()]
}

async fn wait_until_connected(nodes: &ServeNodes) {
    wait_until(nodes, |contact| {
        matches!(contact, RedisReachability::Reachable { .. })
    })
    .await;
}

async fn wait_until(nodes: &ServeNodes, condition: impl Fn(RedisReachability) -> bool) {
    let began = Instant::now();
    while !limiters(nodes)
        .map(|it| condition(it.redis_reachability().unwrap()))
        .into_iter()
        .all(|it| it)
    {
        assert!(
            began.elapsed() < RECOVERY_TIMEOUT,
            "{:?}",
            limiters(nodes).map(RateLimiter::redis_reachability)
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many of these loads one node accepts.
async fn load_and_count_on(
    nodes: &ServeNodes,
    node: usize,
    customer: &Customer,
    count: usize,
) -> usize {
    let loads = (0..count).map(|_| nodes.load_on(customer, node));
    count_accepted(&futures::future::join_all(loads).await)
}

#[tokio::test]
async fn without_redis_each_node_grants_its_share_of_what_was_left() {
    let mut redis = RedisServer::new();
    let nodes = start_nodes(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    assert_eq!(load_and_count_on(&nodes, 0, &customer, 20).await, 20);
    redis.kill();
    // The first node knows that 80 are left; the second does not know this bucket.
    assert_eq!(load_and_count_on(&nodes, 0, &customer, 100).await, 40);
    assert_eq!(load_and_count_on(&nodes, 1, &customer, 100).await, 50);
    // Each is refilled at half the rate.
    nodes.advance_clock(8);
    assert_eq!(load_and_count_on(&nodes, 0, &customer, 10).await, 2);
    assert_eq!(load_and_count_on(&nodes, 1, &customer, 10).await, 2);
    assert!(nodes.fallbacks() > 0);
    // Redis starts without data, so the bucket is full; the nodes report what they granted.
    assert!(redis.start());
    wait_until_connected(&nodes).await;
    let before = nodes.fallbacks();
    wait_for_level(&nodes, &customer, &redis, 100 - 40 - 50 - 2 - 2).await;
    assert_eq!(nodes.load_and_count(&customer, 50).await, 6);
    nodes.advance_clock(200);
    assert_eq!(nodes.load_and_count(&customer, 150).await, 100);
    assert_eq!(nodes.fallbacks(), before);
}

/// Waits until the nodes have reported everything to Redis.
async fn wait_for_level(nodes: &ServeNodes, customer: &Customer, redis: &RedisServer, left: u64) {
    let key = customer.organization.uuid().simple();
    let began = Instant::now();
    loop {
        let kept = redis.command(&format!("GET b:{key}"));
        let level = kept.lines().nth(1).and_then(|it| it.split(' ').next());
        if level == Some(&(left * 60_000_000).to_string()) {
            return;
        }
        assert!(
            began.elapsed() < RECOVERY_TIMEOUT,
            "{kept} {:?}",
            nodes.fallbacks()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_frozen_redis_costs_one_budget_and_is_corrected_afterwards() {
    let redis = RedisServer::new();
    let nodes = start_nodes(TestLimits {
        redis_timeout: CALL_BUDGET,
        ..TestLimits::with_redis(redis.url())
    })
    .await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    assert_eq!(nodes.load_and_count(&customer, 20).await, 20);
    redis.freeze();
    // Both nodes last knew a level of about 80.
    let answers = nodes.load_many(&customer, 60).await;
    assert_eq!(count_accepted(&answers), 60);
    wait_until(&nodes, |contact| contact == RedisReachability::Unreachable).await;
    // Once Redis is known to be unreachable, no load waits for it.
    let started = Instant::now();
    for _ in 0..100 {
        let refused = nodes.send_to(0, &customer, "{").await;
        assert_eq!(refused.status, 400);
    }
    assert!(started.elapsed() < CALL_BUDGET * 100);
    assert_eq!(load_and_count_on(&nodes, 0, &customer, 1).await, 1);
    redis.resume();
    wait_until_connected(&nodes).await;
    let before = nodes.fallbacks();
    // Redis now runs the calls that timed out; the nodes return those tokens.
    wait_for_level(&nodes, &customer, &redis, 100 - 20 - 60 - 1).await;
    assert_eq!(nodes.load_and_count(&customer, 50).await, 19);
    assert_eq!(nodes.fallbacks(), before);
}

#[tokio::test]
async fn a_wiped_redis_grants_one_burst_more_and_no_other() {
    let redis = RedisServer::new();
    let nodes = start_nodes(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    assert_eq!(nodes.load_and_count(&customer, 150).await, 100);
    redis.command("FLUSHALL");
    redis.command("SCRIPT FLUSH");
    assert_eq!(nodes.load_and_count(&customer, 150).await, 100);
    assert_eq!(nodes.load_and_count(&customer, 150).await, 0);
}

#[tokio::test]
async fn without_any_redis_the_only_node_has_the_whole_limit() {
    let limited = TestLimits {
        redis: None,
        ..TestLimits::with_redis(String::new())
    };
    let service = crate::support::TestService::with_limits(limited).await;
    let customer = service.create_customer_with_plan(Plan::Free).await;
    let body = crate::support::http::chat_request("Hello.", None);
    let loads = (0..150).map(|_| service.post_load(&customer, &body));
    let answers = futures::future::join_all(loads).await;
    assert_eq!(count_accepted(&answers), 100);
    assert_eq!(service.app.limiter().redis_reachability(), None);
    assert_eq!(service.app.limiter().fallbacks(), 0);
}
