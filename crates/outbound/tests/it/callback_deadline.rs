//! One deadline covers the whole exchange, wherever the receiver is slow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outbound::callback::{CallbackAttempt, HttpCallbackClient};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio::net::TcpListener;

use crate::support::dns::SilentResolver;
use crate::support::{ALLOWED_RANGE, attempt_error, client_with, client_with_timeout, post};

const SHORT_TIMEOUT: Duration = Duration::from_millis(300);
/// For a busy machine.
const MARGIN: Duration = Duration::from_secs(30);

async fn post_late(client: &HttpCallbackClient, url: &str) -> CallbackAttempt {
    let started = Instant::now();
    let attempt = post(client, url).await;
    assert_eq!(attempt_error(&attempt), "timed out after 300 ms");
    assert!(
        started.elapsed() < SHORT_TIMEOUT + MARGIN,
        "{:?}",
        started.elapsed()
    );
    assert!(
        attempt.latency >= SHORT_TIMEOUT && attempt.latency < SHORT_TIMEOUT + MARGIN,
        "{attempt:?}"
    );
    attempt
}

#[tokio::test]
async fn a_body_dripped_beyond_the_deadline_ends_in_time() {
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffff\r\n",
    ] {
        let receiver = ScriptedReceiver::start([ScriptedReply::Drip(head.into())]).await;
        let attempt = post_late(&client_with_timeout(SHORT_TIMEOUT), &receiver.url()).await;
        assert!(attempt.response_excerpt.starts_with(b"x"), "{attempt:?}");
        // Its connection is not kept.
        receiver.wait_for_close().await;
    }
}

#[tokio::test]
async fn a_head_dripped_beyond_the_deadline_ends_in_time() {
    for head in ["", "HTTP/1.1 200 OK\r\nx-drip: "] {
        let receiver = ScriptedReceiver::start([ScriptedReply::Drip(head.into())]).await;
        let attempt = post(&client_with_timeout(SHORT_TIMEOUT), &receiver.url()).await;
        assert!(
            !attempt.is_success() && attempt.status.is_none(),
            "{attempt:?}"
        );
        assert!(attempt.latency < SHORT_TIMEOUT + MARGIN);
        receiver.wait_for_close().await;
    }
}

#[tokio::test]
async fn a_receiver_that_never_answers_ends_in_time() {
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let attempt = post_late(&client_with_timeout(SHORT_TIMEOUT), &receiver.url()).await;
    assert_eq!(attempt.status, None);
    receiver.wait_for_close().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_receiver_that_never_accepts_ends_in_time() {
    // The kernel completes the handshake; the listener never accepts.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    post_late(
        &client_with_timeout(SHORT_TIMEOUT),
        &format!("http://{address}/"),
    )
    .await;
    post_late(
        &client_with_timeout(SHORT_TIMEOUT),
        &format!("https://{address}/"),
    )
    .await;
}

#[tokio::test]
async fn a_name_that_is_never_resolved_ends_in_time() {
    let client = client_with(SHORT_TIMEOUT, &[ALLOWED_RANGE], Arc::new(SilentResolver));
    post_late(&client, "http://slow.test/").await;
}

#[tokio::test]
async fn a_slow_exchange_does_not_hold_up_another() {
    let slow = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let quick = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let client = client_with_timeout(SHORT_TIMEOUT * 10);
    let (slow_url, quick_url) = (slow.url(), quick.url());
    let stalled = futures::future::join_all((0..50).map(|_| post(&client, &slow_url)));
    let answered = async {
        for _ in 0..20 {
            assert!(post(&client, &quick_url).await.is_success());
        }
    };
    match futures::future::select(Box::pin(stalled), Box::pin(answered)).await {
        futures::future::Either::Left(_) => panic!("the quick receiver waited for the slow one"),
        futures::future::Either::Right(_) => {}
    }
}

#[tokio::test]
async fn whole_seconds_are_reported_as_seconds() {
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let attempt = post(
        &client_with_timeout(Duration::from_secs(1)),
        &receiver.url(),
    )
    .await;
    assert_eq!(attempt_error(&attempt), "timed out after 1 s");
}
