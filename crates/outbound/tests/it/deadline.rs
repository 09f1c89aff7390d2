//! One deadline for the whole exchange, wherever a receiver lingers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outbound::callback::{Attempt, Callbacks};
use tokio::net::TcpListener;

use crate::support::names::Silent;
use crate::support::{OPENED, Receiver, Reply, client_with, error, hasty, plain, post};

const SHORT: Duration = Duration::from_millis(300);
/// For a busy machine; well short of for ever.
const MARGIN: Duration = Duration::from_secs(5);

async fn late(client: &Callbacks, url: &str) -> Attempt {
    let started = Instant::now();
    let attempt = post(client, url).await;
    assert_eq!(error(&attempt), "timed out after 300 ms");
    assert!(
        started.elapsed() < SHORT + MARGIN,
        "{:?}",
        started.elapsed()
    );
    assert!(
        attempt.latency >= SHORT && attempt.latency < SHORT + MARGIN,
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
        let receiver = Receiver::start([Reply::Drip(head.into())]).await;
        let attempt = late(&hasty(SHORT), &receiver.url()).await;
        assert!(attempt.answer.starts_with(b"x"), "{attempt:?}");
        // Its connection is not kept.
        receiver.one_closed().await;
    }
}

#[tokio::test]
async fn a_head_dripped_beyond_the_deadline_ends_in_time() {
    for head in ["", "HTTP/1.1 200 OK\r\nx-drip: "] {
        let receiver = Receiver::start([Reply::Drip(head.into())]).await;
        let attempt = post(&hasty(SHORT), &receiver.url()).await;
        assert!(
            !attempt.is_success() && attempt.status.is_none(),
            "{attempt:?}"
        );
        assert!(attempt.latency < SHORT + MARGIN);
        receiver.one_closed().await;
    }
}

#[tokio::test]
async fn a_receiver_that_never_answers_ends_in_time() {
    let receiver = Receiver::start([Reply::Silence]).await;
    let attempt = late(&hasty(SHORT), &receiver.url()).await;
    assert_eq!(attempt.status, None);
    receiver.one_closed().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_receiver_that_never_accepts_ends_in_time() {
    // The system completes the connection; nobody ever takes it up.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    late(&hasty(SHORT), &format!("http://{address}/")).await;
    late(&hasty(SHORT), &format!("https://{address}/")).await;
}

#[tokio::test]
async fn a_name_that_is_never_resolved_ends_in_time() {
    let client = client_with(SHORT, &[OPENED], Arc::new(Silent));
    late(&client, "http://slow.test/").await;
}

#[tokio::test]
async fn a_slow_exchange_does_not_hold_up_another() {
    let slow = Receiver::start([Reply::Silence]).await;
    let quick = Receiver::start([plain(200, "")]).await;
    let client = hasty(SHORT * 10);
    let (slow_url, quick_url) = (slow.url(), quick.url());
    let stalled = futures::future::join_all((0..50).map(|_| post(&client, &slow_url)));
    let answered = async {
        for _ in 0..20 {
            assert!(post(&client, &quick_url).await.is_success());
        }
    };
    match futures::future::select(Box::pin(stalled), Box::pin(answered)).await {
        futures::future::Either::Left(_) => panic!("the quick one waited for the slow ones"),
        futures::future::Either::Right(_) => {}
    }
}

#[tokio::test]
async fn whole_seconds_are_told_as_such() {
    let receiver = Receiver::start([Reply::Silence]).await;
    let attempt = post(&hasty(Duration::from_secs(1)), &receiver.url()).await;
    assert_eq!(error(&attempt), "timed out after 1 s");
}
