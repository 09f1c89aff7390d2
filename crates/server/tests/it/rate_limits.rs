//! Rate limits with a real Redis: two nodes, one token bucket, and a manual clock.

use std::time::{Duration, Instant};

use api::App;
use api::rate_limit::RedisReachability;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use domain::organization::Plan;
use domain::plan_limits::Backstop;
use futures::StreamExt as _;
use futures::stream;
use test_support::redis::RedisServer;

use crate::support::http::{AppResponse, chat_request, send, with_body};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, TestService};

mod every_route;
mod new_lanes;
mod projects;
mod redis_outage;
mod returned_tokens;
mod routes;

/// How many loads may run at once without overflowing the queue of the group commit.
const MAX_CONCURRENT_LOADS: usize = 1_000;

/// Two serve processes that share one Redis.
pub(crate) struct ServeNodes {
    pub(crate) service: TestService,
    pub(crate) other: App,
    routers: [Router; 2],
}

impl ServeNodes {
    pub(crate) async fn new(limited: TestLimits) -> Self {
        let service = TestService::with_limits(limited).await;
        let other = service.start_another_app().await;
        let routers = [service.router.clone(), api::router(other.clone())];
        Self {
            service,
            other,
            routers,
        }
    }

    /// Loads concurrently, alternating between both nodes.
    pub(crate) async fn load_many(&self, customer: &Customer, count: usize) -> Vec<AppResponse> {
        let loads = (0..count).map(|turn| self.load_on(customer, turn % 2));
        stream::iter(loads)
            .buffer_unordered(MAX_CONCURRENT_LOADS)
            .collect()
            .await
    }

    /// Loads through one of the two nodes.
    pub(crate) async fn load_on(&self, customer: &Customer, node: usize) -> AppResponse {
        self.send_to(node, customer, &chat_request("Hello.", None).to_string())
            .await
    }

    async fn send_to(&self, node: usize, customer: &Customer, body: &str) -> AppResponse {
        let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
        send(
            self.routers[node].clone(),
            with_body(request, body.to_owned()),
        )
        .await
    }

    /// How many of these loads are accepted. Every response is 202 or 429.
    pub(crate) async fn load_and_count(&self, customer: &Customer, count: usize) -> usize {
        count_accepted(&self.load_many(customer, count).await)
    }

    pub(crate) fn fallbacks(&self) -> u64 {
        self.service.app.limiter().fallbacks() + self.other.limiter().fallbacks()
    }

    fn advance_clock(&self, seconds: u64) {
        self.service.clock.advance(Duration::from_secs(seconds));
    }
}

pub(crate) fn count_accepted(answers: &[AppResponse]) -> usize {
    for answer in answers {
        assert!(matches!(answer.status, 202 | 429), "{answer}");
    }
    answers.iter().filter(|answer| answer.status == 202).count()
}

fn header_number(answer: &AppResponse, header: &str) -> u64 {
    answer.headers[header].to_str().unwrap().parse().unwrap()
}

/// The response with its headers of the rate limit and of deprecation.
fn render_with_headers(answer: &AppResponse) -> String {
    let names = [
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "retry-after",
        "deprecation",
        "sunset",
    ];
    let headers = names.map(|name| match answer.headers.get(name) {
        Some(value) => format!("{name}: {}\n", value.to_str().unwrap()),
        None => String::new(),
    });
    format!("{}{answer}", headers.concat())
}

async fn assert_exact_burst(plan: Plan, loads: usize, burst: usize) {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(plan).await;
    assert_eq!(nodes.load_and_count(&customer, loads).await, burst);
    assert_eq!(nodes.load_and_count(&customer, 10).await, 0);
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_loads_at_once_on_free_are_accepted_a_hundred_times() {
    assert_exact_burst(Plan::Free, 1_000, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_burst_of_starter_is_exact() {
    assert_exact_burst(Plan::Starter, 1_500, 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_burst_of_pro_is_exact() {
    assert_exact_burst(Plan::Pro, 6_000, 5_000).await;
}

#[tokio::test]
async fn a_load_is_accepted_after_retry_after_and_not_a_second_earlier() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    for plan in [Plan::Free, Plan::Starter] {
        let customer = nodes.service.create_customer_with_plan(plan).await;
        nodes.load_many(&customer, 1_200).await;
        for round in 0..10 {
            // A second may refill more than one token.
            let mut refused = nodes.load_on(&customer, round % 2).await;
            while refused.status != 429 {
                refused = nodes.load_on(&customer, round % 2).await;
            }
            nodes.advance_clock(header_number(&refused, "retry-after") - 1);
            assert_eq!(nodes.load_on(&customer, 0).await.status, 429);
            nodes.advance_clock(1);
            assert_eq!(nodes.load_on(&customer, 1).await.status, 202);
        }
    }
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn an_hour_at_the_sustained_rate_admits_that_rate() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Starter).await;
    assert_eq!(nodes.load_and_count(&customer, 1_100).await, 1_000);
    let (mut admitted, minutes) = (0, 60);
    // In steps that do not align with the refill, each with more loads than tokens.
    for _ in 0..minutes * 60 / 7 {
        nodes.advance_clock(7);
        admitted += nodes.load_and_count(&customer, 20).await;
    }
    nodes.advance_clock(minutes * 60 % 7);
    admitted += nodes.load_and_count(&customer, 20).await;
    let sustained = 120 * 60_usize;
    assert!(
        admitted.abs_diff(sustained) * 1_000 <= sustained,
        "{admitted}"
    );
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn an_idle_bucket_is_full_again() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    // One token every two seconds, and never more than the burst.
    let waits = [
        (0, 100),
        (1, 0),
        (2, 1),
        (199, 100),
        (200, 100),
        (100_000, 100),
    ];
    for (waited, refilled) in waits {
        nodes.advance_clock(waited);
        assert_eq!(
            nodes.load_and_count(&customer, 150).await,
            refilled,
            "{waited}"
        );
    }
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn a_response_shows_the_level_of_the_bucket() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    let first = nodes.load_on(&customer, 0).await;
    let filters = vec![("crg_[0-9a-f]{32}", "[cargo]")];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(render_with_headers(&first), @r#"
        ratelimit-limit: 100
        ratelimit-remaining: 99
        ratelimit-reset: 2
        202 {
          "cargo_id": "[cargo]",
          "status": "success",
          "message": "Cargo loaded."
        }
        "#);
    });
    assert_eq!(nodes.load_and_count(&customer, 98).await, 98);
    let last = nodes.load_on(&customer, 1).await;
    assert_eq!(header_number(&last, "ratelimit-remaining"), 0);
    assert_eq!(header_number(&last, "ratelimit-reset"), 200);
    insta::assert_snapshot!(render_with_headers(&nodes.load_on(&customer, 0).await), @r#"
    ratelimit-limit: 100
    ratelimit-remaining: 0
    ratelimit-reset: 200
    retry-after: 2
    deprecation: @1794700800
    sunset: Fri, 14 May 2027 00:00:00 GMT
    429 {
      "detail": {
        "error": "rate_limit_exceeded",
        "message": "The rate limit of the free plan is exceeded: 100 requests at once, then 30 per minute. Retry in 2 s.",
        "plan": "free",
        "burst": 100,
        "sustained_requests_per_minute": 30,
        "requests_per_minute": 30,
        "retry_after_seconds": 2,
        "upgrade_url": "https://longshore.example/plans"
      }
    }
    "#);
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn the_backstop_is_checked_before_the_body_is_read_and_names_no_plan() {
    let redis = RedisServer::new();
    let limited = TestLimits {
        backstop: Backstop {
            per_minute: 10,
            per_hour: 25,
        },
        ..TestLimits::with_redis(redis.url())
    };
    let nodes = ServeNodes::new(limited).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    // Invalid loads count too.
    for turn in 0..5 {
        assert_eq!(nodes.send_to(turn % 2, &customer, "{").await.status, 400);
    }
    assert_eq!(nodes.load_and_count(&customer, 20).await, 5);
    let refused = nodes.send_to(0, &customer, "{").await;
    insta::assert_snapshot!(render_with_headers(&refused), @r#"
    429 {
      "detail": "Too many requests from this project. Please slow down."
    }
    "#);
    // Another project of the same organization has its own windows.
    let sibling = nodes.service.create_sibling_project(&customer).await;
    assert_eq!(nodes.load_and_count(&sibling, 20).await, 10);
    nodes.advance_clock(60);
    assert_eq!(nodes.load_and_count(&customer, 20).await, 10);
    nodes.advance_clock(60);
    assert_eq!(nodes.load_and_count(&customer, 20).await, 5);
    nodes.advance_clock(60);
    assert_eq!(nodes.load_and_count(&customer, 20).await, 0);
    nodes.advance_clock(3_600);
    assert_eq!(nodes.load_and_count(&customer, 20).await, 10);
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn validation_errors_come_before_the_rate_limit_and_take_no_token() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    let mut body = chat_request("Hello.", None);
    body["params"]["max_tokens"] = serde_json::json!(0);
    let unprocessable = body.to_string();
    body["params"]["model"] = "no-such-model".into();
    body["params"]["max_tokens"] = serde_json::json!(64);
    let unknown = body.to_string();
    for _ in 0..2 {
        for (body, status) in [("{", 400), (&unprocessable, 422), (&unknown, 400)] {
            let answer = nodes.send_to(0, &customer, body).await;
            assert_eq!(answer.status, status, "{answer}");
            assert!(answer.headers.get("ratelimit-limit").is_none());
        }
        // At first the bucket is full, then empty: the validation errors are the same.
        let before = nodes.load_and_count(&customer, 150).await;
        assert!(matches!(before, 100 | 0));
    }
    assert_eq!(nodes.fallbacks(), 0);
}

#[tokio::test]
async fn ready_reports_the_state_of_redis() {
    let redis = RedisServer::new();
    let service = TestService::with_limits(TestLimits::with_redis(redis.url())).await;
    let began = Instant::now();
    while !matches!(
        service.app.limiter().redis_reachability(),
        Some(RedisReachability::Reachable { .. })
    ) {
        assert!(began.elapsed() < Duration::from_mins(1));
        tokio::task::yield_now().await;
    }
    let request = Request::get("/ready").body(Body::empty()).unwrap();
    let answer = service.send(request).await;
    let rows = answer.body["dependencies"].as_array().unwrap();
    assert_eq!(rows.last().unwrap()["name"], "redis");
    assert_eq!(rows.last().unwrap()["state"], "ok");
}
