//! Rate limits with a real Redis: two nodes, one bucket, and a clock that only the test moves.

use std::time::{Duration, Instant};

use api::App;
use api::limits::RedisContact;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use domain::limit::Backstop;
use domain::organization::Plan;
use futures::StreamExt as _;
use futures::stream;

use crate::redis::Redis;
use crate::support::http::{Answer, chat, send};
use crate::support::limited::Limited;
use crate::support::{Customer, Service};

mod away;

/// As many loads as may be under way at once without the writer's queue running over.
const AT_ONCE: usize = 1_000;

/// Two serve processes before one Redis.
pub(crate) struct Fleet {
    pub(crate) service: Service,
    pub(crate) other: App,
    routers: [Router; 2],
}

impl Fleet {
    pub(crate) async fn new(limited: Limited) -> Self {
        let service = Service::with(limited).await;
        let other = service.another_app().await;
        let routers = [service.router.clone(), api::router(other.clone())];
        Self {
            service,
            other,
            routers,
        }
    }

    /// Loads at once, by turns through both nodes; returns the answers.
    pub(crate) async fn load(&self, customer: &Customer, count: usize) -> Vec<Answer> {
        let loads = (0..count).map(|turn| self.load_at(customer, turn % 2));
        stream::iter(loads)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    /// Loads through one of the two.
    pub(crate) async fn load_at(&self, customer: &Customer, node: usize) -> Answer {
        self.send_to(node, customer, &chat("Hello.", None).to_string())
            .await
    }

    async fn send_to(&self, node: usize, customer: &Customer, body: &str) -> Answer {
        let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
        let request = request.body(Body::from(body.to_owned())).unwrap();
        send(self.routers[node].clone(), request).await
    }

    /// How many of so many are accepted. Nothing but 202 and 429 is an answer.
    pub(crate) async fn accepted(&self, customer: &Customer, count: usize) -> usize {
        accepted(&self.load(customer, count).await)
    }

    pub(crate) fn fallbacks(&self) -> u64 {
        self.service.app.limiter().fallbacks() + self.other.limiter().fallbacks()
    }

    fn wait(&self, seconds: u64) {
        self.service.clock.advance(Duration::from_secs(seconds));
    }
}

pub(crate) fn accepted(answers: &[Answer]) -> usize {
    for answer in answers {
        assert!(matches!(answer.status, 202 | 429), "{answer}");
    }
    answers.iter().filter(|answer| answer.status == 202).count()
}

fn number(answer: &Answer, header: &str) -> u64 {
    answer.headers[header].to_str().unwrap().parse().unwrap()
}

/// The headers that say how a bucket stands, and what is deprecated.
fn told(answer: &Answer) -> String {
    let names = [
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "retry-after",
        "deprecation",
        "sunset",
    ];
    let told = names.map(|name| match answer.headers.get(name) {
        Some(value) => format!("{name}: {}\n", value.to_str().unwrap()),
        None => String::new(),
    });
    format!("{}{answer}", told.concat())
}

async fn burst_is_exact(plan: Plan, loads: usize, burst: usize) {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(plan).await;
    assert_eq!(fleet.accepted(&customer, loads).await, burst);
    assert_eq!(fleet.accepted(&customer, 10).await, 0);
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_loads_at_once_on_free_are_accepted_a_hundred_times() {
    burst_is_exact(Plan::Free, 1_000, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_burst_of_starter_is_exact() {
    burst_is_exact(Plan::Starter, 1_500, 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_burst_of_pro_is_exact() {
    burst_is_exact(Plan::Pro, 6_000, 5_000).await;
}

#[tokio::test]
async fn who_waits_as_told_is_accepted_and_a_second_earlier_is_not() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    for plan in [Plan::Free, Plan::Starter] {
        let customer = fleet.service.customer_of(plan).await;
        fleet.load(&customer, 1_200).await;
        for round in 0..10 {
            // A second may bring more than one.
            let mut refused = fleet.load_at(&customer, round % 2).await;
            while refused.status != 429 {
                refused = fleet.load_at(&customer, round % 2).await;
            }
            fleet.wait(number(&refused, "retry-after") - 1);
            assert_eq!(fleet.load_at(&customer, 0).await.status, 429);
            fleet.wait(1);
            assert_eq!(fleet.load_at(&customer, 1).await.status, 202);
        }
    }
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn an_hour_at_the_sustained_rate_admits_that_rate() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Starter).await;
    assert_eq!(fleet.accepted(&customer, 1_100).await, 1_000);
    let (mut admitted, minutes) = (0, 60);
    // In steps that no refill divides evenly, each with more loads than were refilled.
    for _ in 0..minutes * 60 / 7 {
        fleet.wait(7);
        admitted += fleet.accepted(&customer, 20).await;
    }
    fleet.wait(minutes * 60 % 7);
    admitted += fleet.accepted(&customer, 20).await;
    let sustained = 120 * 60_usize;
    assert!(
        admitted.abs_diff(sustained) * 1_000 <= sustained,
        "{admitted}"
    );
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn an_idle_bucket_is_full_again() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    // One in two seconds, and never more than the burst.
    let waits = [
        (0, 100),
        (1, 0),
        (2, 1),
        (199, 100),
        (200, 100),
        (100_000, 100),
    ];
    for (waited, refilled) in waits {
        fleet.wait(waited);
        assert_eq!(fleet.accepted(&customer, 150).await, refilled, "{waited}");
    }
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn an_answer_tells_how_the_bucket_stands() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    let first = fleet.load_at(&customer, 0).await;
    let filters = vec![("crg_[0-9a-f]{32}", "[cargo]")];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(told(&first), @r#"
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
    assert_eq!(fleet.accepted(&customer, 98).await, 98);
    let last = fleet.load_at(&customer, 1).await;
    assert_eq!(number(&last, "ratelimit-remaining"), 0);
    assert_eq!(number(&last, "ratelimit-reset"), 200);
    insta::assert_snapshot!(told(&fleet.load_at(&customer, 0).await), @r#"
    ratelimit-limit: 100
    ratelimit-remaining: 0
    ratelimit-reset: 200
    retry-after: 2
    deprecation: @1794700800
    sunset: Fri, 14 May 2027 00:00:00 GMT
    429 {
      "detail": {
        "error": "rate_limit_exceeded",
        "message": "The free plan takes 100 requests at once and 30 per minute. Retry in 2 s.",
        "plan": "free",
        "burst": 100,
        "sustained_requests_per_minute": 30,
        "requests_per_minute": 30,
        "retry_after_seconds": 2,
        "upgrade_url": "https://longshore.example/plans"
      }
    }
    "#);
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn the_backstop_is_asked_before_the_body_is_read_and_says_nothing_of_plans() {
    let redis = Redis::new();
    let limited = Limited {
        backstop: Backstop {
            per_minute: 10,
            per_hour: 25,
        },
        ..Limited::by(redis.url())
    };
    let fleet = Fleet::new(limited).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    // What is wrong with a load does not keep it from being counted.
    for turn in 0..5 {
        assert_eq!(fleet.send_to(turn % 2, &customer, "{").await.status, 400);
    }
    assert_eq!(fleet.accepted(&customer, 20).await, 5);
    let refused = fleet.send_to(0, &customer, "{").await;
    insta::assert_snapshot!(told(&refused), @r#"
    429 {
      "detail": "Too many requests from this project. Please slow down."
    }
    "#);
    // Another project of the same organization has windows of its own.
    let sibling = fleet.service.sibling_of(&customer).await;
    assert_eq!(fleet.accepted(&sibling, 20).await, 10);
    fleet.wait(60);
    assert_eq!(fleet.accepted(&customer, 20).await, 10);
    fleet.wait(60);
    assert_eq!(fleet.accepted(&customer, 20).await, 5);
    fleet.wait(60);
    assert_eq!(fleet.accepted(&customer, 20).await, 0);
    fleet.wait(3_600);
    assert_eq!(fleet.accepted(&customer, 20).await, 10);
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn what_is_wrong_with_a_load_is_told_before_its_limit_and_takes_nothing() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    let mut body = chat("Hello.", None);
    body["params"]["max_tokens"] = serde_json::json!(0);
    let unprocessable = body.to_string();
    body["params"]["model"] = "no-such-model".into();
    body["params"]["max_tokens"] = serde_json::json!(64);
    let unknown = body.to_string();
    for _ in 0..2 {
        for (body, status) in [("{", 400), (&unprocessable, 422), (&unknown, 400)] {
            let answer = fleet.send_to(0, &customer, body).await;
            assert_eq!(answer.status, status, "{answer}");
            assert!(answer.headers.get("ratelimit-limit").is_none());
        }
        // At first none of these was taken; then the bucket is empty and they are told all the same.
        let before = fleet.accepted(&customer, 150).await;
        assert!(matches!(before, 100 | 0));
    }
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn what_was_loaded_before_or_is_refused_later_gives_its_token_back() {
    let redis = Redis::new();
    let service = Service::with(Limited::by(redis.url())).await;
    let customer = service.customer_of(Plan::Free).await;
    let (body, other) = (chat("Once.", None), chat("Twice.", None));
    let first = service.load_named(&customer, "order-7", &body).await;
    assert_eq!(number(&first, "ratelimit-remaining"), 99);
    for _ in 0..150 {
        let again = service.load_named(&customer, "order-7", &body).await;
        assert_eq!(again.cargo_id(), first.cargo_id());
        assert_eq!(number(&again, "ratelimit-remaining"), 99);
        let reused = service.load_named(&customer, "order-7", &other).await;
        assert_eq!(reused.status, 409);
    }
    let fleet = stream::iter(0..150).map(|_| service.post_load(&customer, &body));
    let answers: Vec<_> = fleet.buffer_unordered(AT_ONCE).collect().await;
    assert_eq!(accepted(&answers), 99);
    // A replay needs a token to be taken before it is known to be one.
    let again = service.load_named(&customer, "order-7", &body).await;
    assert_eq!(again.status, 429);
    assert_eq!(service.app.limiter().fallbacks(), 0);
}

#[tokio::test]
async fn who_hangs_up_neither_loses_nor_doubles_a_token() {
    let redis = Redis::new();
    let fleet = Fleet::new(Limited::by(redis.url())).await;
    let customer = fleet.service.customer_of(Plan::Free).await;
    let (service, body) = (&fleet.service, chat("Known.", None));
    let known = service.load_named(&customer, "known", &body).await;
    assert_eq!(known.status, 202);
    // Hung up at any moment of their way, from before the limiter to after the commit.
    for patience in 0..60 {
        let load = fleet.load_at(&customer, patience % 2);
        let patience = Duration::from_micros(50 * u64::try_from(patience).unwrap());
        let _hung_up = tokio::time::timeout(patience, load).await;
    }
    // Each was either stored, which took a token, or not, which took none.
    let began = Instant::now();
    let left = loop {
        let before = service.stored(&customer).await;
        // What was loaded before takes nothing, and tells.
        let known = service.load_named(&customer, "known", &body).await;
        let remaining = number(&known, "ratelimit-remaining");
        let after = service.stored(&customer).await;
        if before == after && before + remaining == 100 {
            break remaining;
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{before} and {remaining}"
        );
    };
    let accepted = fleet.accepted(&customer, 150).await;
    assert_eq!(u64::try_from(accepted).unwrap(), left);
    assert_eq!(fleet.fallbacks(), 0);
}

#[tokio::test]
async fn ready_says_how_redis_stands() {
    let redis = Redis::new();
    let service = Service::with(Limited::by(redis.url())).await;
    let began = Instant::now();
    while !matches!(
        service.app.limiter().contact(),
        Some(RedisContact::Answers { .. })
    ) {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::task::yield_now().await;
    }
    let request = Request::get("/ready").body(Body::empty()).unwrap();
    let answer = service.send(request).await;
    let rows = answer.body["dependencies"].as_array().unwrap();
    assert_eq!(rows.last().unwrap()["name"], "redis");
    assert_eq!(rows.last().unwrap()["state"], "ok");
}
