//! Redis wiped, killed and frozen: each node goes on with its share, and all is exact afterwards.

use std::time::{Duration, Instant};

use api::limits::{Limiter, RedisContact};
use domain::organization::Plan;

use crate::limits::{Fleet, accepted};
use crate::redis::Redis;
use crate::support::Customer;
use crate::support::limited::Limited;

/// What a frozen Redis costs; more than a busy machine takes for a call by accident.
const BUDGET: Duration = Duration::from_millis(250);
/// Promised is five seconds; a busy machine may take longer to run this test at all.
const SOON: Duration = Duration::from_secs(20);

/// Two nodes that know of each other and of Redis.
async fn fleet(limited: Limited) -> Fleet {
    let fleet = Fleet::new(limited).await;
    let began = Instant::now();
    // The first beat of the first node came before there was a second.
    while limiters(&fleet).map(Limiter::nodes) != [2, 2] {
        assert!(began.elapsed() < SOON);
        for limiter in limiters(&fleet) {
            limiter.beat().await;
        }
    }
    connected(&fleet).await;
    fleet
}

fn limiters(fleet: &Fleet) -> [&Limiter; 2] {
    [fleet.service.app.limiter(), fleet.other.limiter()]
}

async fn connected(fleet: &Fleet) {
    until(fleet, |contact| {
        matches!(contact, RedisContact::Answers { .. })
    })
    .await;
}

async fn until(fleet: &Fleet, wanted: impl Fn(RedisContact) -> bool) {
    let began = Instant::now();
    while !limiters(fleet)
        .map(|it| wanted(it.contact().unwrap()))
        .into_iter()
        .all(|it| it)
    {
        assert!(
            began.elapsed() < SOON,
            "{:?}",
            limiters(fleet).map(Limiter::contact)
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many one node alone accepts.
async fn accepted_at(fleet: &Fleet, node: usize, customer: &Customer, count: usize) -> usize {
    let loads = (0..count).map(|_| fleet.load_at(customer, node));
    accepted(&futures::future::join_all(loads).await)
}

#[tokio::test]
async fn without_redis_each_node_grants_its_share_of_what_was_left() {
    let mut redis = Redis::new();
    let fleet = fleet(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    assert_eq!(accepted_at(&fleet, 0, &customer, 20).await, 20);
    redis.kill();
    // The first node knows that 80 are left; the second has never heard of them.
    assert_eq!(accepted_at(&fleet, 0, &customer, 100).await, 40);
    assert_eq!(accepted_at(&fleet, 1, &customer, 100).await, 50);
    // Each is refilled at half the rate.
    fleet.wait(8);
    assert_eq!(accepted_at(&fleet, 0, &customer, 10).await, 2);
    assert_eq!(accepted_at(&fleet, 1, &customer, 10).await, 2);
    assert!(fleet.fallbacks() > 0);
    // It comes back empty, so full; what was spent meanwhile is told to it.
    assert!(redis.start());
    connected(&fleet).await;
    let before = fleet.fallbacks();
    settled(&fleet, &customer, &redis, 100 - 40 - 50 - 2 - 2).await;
    assert_eq!(fleet.accepted(&customer, 50).await, 6);
    fleet.wait(200);
    assert_eq!(fleet.accepted(&customer, 150).await, 100);
    assert_eq!(fleet.fallbacks(), before);
}

/// Waits until Redis has been told of everything.
async fn settled(fleet: &Fleet, customer: &Customer, redis: &Redis, left: u64) {
    let key = customer.organization.uuid().simple();
    let began = Instant::now();
    loop {
        let kept = redis.say(&format!("GET b:{key}"));
        let level = kept.lines().nth(1).and_then(|it| it.split(' ').next());
        if level == Some(&(left * 60_000_000).to_string()) {
            return;
        }
        assert!(began.elapsed() < SOON, "{kept} {:?}", fleet.fallbacks());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_frozen_redis_costs_one_budget_and_is_corrected_afterwards() {
    let redis = Redis::new();
    let fleet = fleet(Limited {
        budget: BUDGET,
        ..Limited::by(redis.url())
    })
    .await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    assert_eq!(fleet.accepted(&customer, 20).await, 20);
    redis.freeze();
    // What both knew last is 80, or a little more for who was not asked last.
    let answers = fleet.load(&customer, 60).await;
    assert_eq!(accepted(&answers), 60);
    until(&fleet, |contact| contact == RedisContact::Away).await;
    // Once it is known to be away, nobody waits for it.
    let asked = Instant::now();
    for _ in 0..100 {
        let refused = fleet.send_to(0, &customer, "{").await;
        assert_eq!(refused.status, 400);
    }
    assert!(asked.elapsed() < BUDGET * 100);
    assert_eq!(accepted_at(&fleet, 0, &customer, 1).await, 1);
    redis.thaw();
    connected(&fleet).await;
    let before = fleet.fallbacks();
    // The calls that were given up are heard now; what they took is put back.
    settled(&fleet, &customer, &redis, 100 - 20 - 60 - 1).await;
    assert_eq!(fleet.accepted(&customer, 50).await, 19);
    assert_eq!(fleet.fallbacks(), before);
}

#[tokio::test]
async fn a_wiped_redis_grants_one_burst_more_and_no_other() {
    let redis = Redis::new();
    let fleet = fleet(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    assert_eq!(fleet.accepted(&customer, 150).await, 100);
    redis.say("FLUSHALL");
    redis.say("SCRIPT FLUSH");
    assert_eq!(fleet.accepted(&customer, 150).await, 100);
    assert_eq!(fleet.accepted(&customer, 150).await, 0);
}

#[tokio::test]
async fn without_any_redis_the_only_node_has_the_whole_limit() {
    let limited = Limited {
        redis: None,
        ..Limited::by(String::new())
    };
    let service = crate::support::Service::with(limited).await;
    let customer = service.customer_of(Plan::Free).await;
    let body = crate::support::http::chat("Hello.", None);
    let loads = (0..150).map(|_| service.post_load(&customer, &body));
    let answers = futures::future::join_all(loads).await;
    assert_eq!(accepted(&answers), 100);
    assert_eq!(service.app.limiter().contact(), None);
    assert_eq!(service.app.limiter().fallbacks(), 0);
}
