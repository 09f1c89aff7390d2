//! Tokens that a load holds, and returns unless it is stored.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use domain::organization::Plan;
use futures::StreamExt as _;
use futures::stream;
use test_support::redis::RedisServer;
use tokio::sync::oneshot;

use super::{MAX_CONCURRENT_LOADS, ServeNodes, count_accepted, header_number};
use crate::support::TestService;
use crate::support::http::{chat_request, send};
use crate::support::test_limits::TestLimits;

#[tokio::test]
async fn a_load_that_takes_long_to_arrive_holds_no_token() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    let (begin_body, is_begun) = oneshot::channel();
    let (finish_body, is_finished) = oneshot::channel();
    // The route reads the body after the limiter has answered.
    let body = stream::once(async move {
        begin_body.send(()).unwrap();
        is_finished.await.unwrap();
        Ok::<_, Infallible>(chat_request("Slowly.", None).to_string())
    });
    let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
    let request = request.body(Body::from_stream(body)).unwrap();
    let slow = tokio::spawn(send(nodes.routers[0].clone(), request));
    is_begun.await.unwrap();
    assert_eq!(nodes.load_and_count(&customer, 150).await, 100);
    finish_body.send(()).unwrap();
    assert_eq!(slow.await.unwrap().status, 429);
}

#[tokio::test]
async fn replays_and_refused_loads_return_their_token() {
    let redis = RedisServer::new();
    let service = TestService::with_limits(TestLimits::with_redis(redis.url())).await;
    let customer = service.create_customer_with_plan(Plan::Free).await;
    let (body, other) = (chat_request("Once.", None), chat_request("Twice.", None));
    let first = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    assert_eq!(header_number(&first, "ratelimit-remaining"), 99);
    for _ in 0..150 {
        let again = service
            .post_load_with_key(&customer, "order-7", &body)
            .await;
        assert_eq!(again.cargo_id(), first.cargo_id());
        assert_eq!(header_number(&again, "ratelimit-remaining"), 99);
        let reused = service
            .post_load_with_key(&customer, "order-7", &other)
            .await;
        assert_eq!(reused.status, 409);
    }
    let loads = stream::iter(0..150).map(|_| service.post_load(&customer, &body));
    let answers: Vec<_> = loads.buffer_unordered(MAX_CONCURRENT_LOADS).collect().await;
    assert_eq!(count_accepted(&answers), 99);
    // A load takes its token before it is recognized as a replay.
    let again = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    assert_eq!(again.status, 429);
    assert_eq!(service.app.limiter().fallbacks(), 0);
}

#[tokio::test]
async fn a_cancelled_request_neither_loses_nor_doubles_a_token() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Free).await;
    let (service, body) = (&nodes.service, chat_request("Known.", None));
    let known = service.post_load_with_key(&customer, "known", &body).await;
    assert_eq!(known.status, 202);
    // Cancel requests at any time from before the limiter to after the commit.
    for number in 0..60 {
        let load = nodes.load_on(&customer, number % 2);
        let timeout = Duration::from_micros(50 * u64::try_from(number).unwrap());
        let _cancelled = tokio::time::timeout(timeout, load).await;
    }
    // Each load was either stored and took a token, or was not stored and took none.
    let began = Instant::now();
    let left = loop {
        let before = service.count_stored_cargo(&customer).await;
        // A replay takes no token and shows how many are left.
        let known = service.post_load_with_key(&customer, "known", &body).await;
        let remaining = header_number(&known, "ratelimit-remaining");
        let after = service.count_stored_cargo(&customer).await;
        if before == after && before + remaining == 100 {
            break remaining;
        }
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "{before} and {remaining}"
        );
    };
    let accepted = nodes.load_and_count(&customer, 150).await;
    assert_eq!(u64::try_from(accepted).unwrap(), left);
    assert_eq!(nodes.fallbacks(), 0);
}
