//! Kept, lost and refused connections. One attempt is never two POSTs.

use std::sync::Arc;

use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use crate::support::{
    ALLOWED_RANGE, LONG_TIMEOUT, ScriptedResolver, attempt_error, client, client_with, post,
};

#[tokio::test]
async fn a_connection_is_used_again() {
    let receiver = ScriptedReceiver::start([
        plain_reply(200, "ok"),
        plain_reply(500, "no"),
        plain_reply(204, ""),
    ])
    .await;
    let client = client();
    for _ in 0..50 {
        post(&client, &receiver.url()).await;
    }
    assert_eq!((receiver.connections(), receiver.received().len()), (1, 50));
}

#[tokio::test]
async fn a_connection_closed_while_idle_costs_no_attempt() {
    let close =
        ScriptedReply::SendAndClose(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec());
    let receiver = ScriptedReceiver::start([close]).await;
    let client = client();
    for round in 1..=50 {
        let attempt = post(&client, &receiver.url()).await;
        assert!(attempt.is_success(), "{attempt:?}");
        receiver.wait_for_close().await;
        assert_eq!(receiver.received().len(), round);
    }
}

#[tokio::test]
async fn a_request_that_may_have_arrived_is_not_sent_again() {
    for (reply, text) in [
        (
            ScriptedReply::SendAndClose(Vec::new()),
            "connection closed before an answer",
        ),
        (
            ScriptedReply::SendAndClose(b"HTTP/1.1 20".to_vec()),
            "connection closed before an answer",
        ),
        (ScriptedReply::SendAndReset(Vec::new()), "connection reset"),
    ] {
        // On a new connection, and on a reused one.
        let receiver = ScriptedReceiver::start([reply.clone(), plain_reply(200, ""), reply]).await;
        let client = client();
        let first = post(&client, &receiver.url()).await;
        assert_eq!((attempt_error(&first), first.status), (text, None));
        assert!(post(&client, &receiver.url()).await.is_success());
        let third = post(&client, &receiver.url()).await;
        assert_eq!((attempt_error(&third), third.status), (text, None));
        assert_eq!((receiver.received().len(), receiver.connections()), (3, 2));
    }
}

#[tokio::test]
async fn a_cut_body_leaves_the_decision_to_the_status() {
    for status in ["200 OK", "299 Fine", "500 Broken", "307 Moved"] {
        let part = format!("HTTP/1.1 {status}\r\ncontent-length: 100\r\n\r\npart").into_bytes();
        let chunk = format!("HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n");
        for reply in [
            ScriptedReply::SendAndClose(part.clone()),
            ScriptedReply::SendAndClose(chunk.into_bytes()),
            ScriptedReply::SendAndReset(part),
        ] {
            let receiver = ScriptedReceiver::start([reply]).await;
            let attempt = post(&client(), &receiver.url()).await;
            if status.starts_with('2') {
                assert!(attempt.is_success(), "{attempt:?}");
            } else {
                assert!(
                    attempt_error(&attempt).starts_with("connection"),
                    "{attempt:?}"
                );
            }
            assert_eq!(attempt.status, status[..3].parse().ok());
            assert_eq!(receiver.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn an_acknowledgement_with_broken_framing_counts() {
    let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a length\r\n".to_vec();
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(answer)]).await;
    let attempt = post(&client(), &receiver.url()).await;
    assert!(attempt.is_success(), "{attempt:?}");
    // Its connection is not used again.
    receiver.wait_for_close().await;
}

#[tokio::test]
async fn a_closed_port_is_reported() {
    let attempt = post(&client(), "http://127.0.0.1:1/").await;
    assert_eq!(
        (attempt_error(&attempt), attempt.status),
        ("connection refused", None)
    );
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let names = ScriptedResolver::answering(&[&["127.0.0.2", "127.0.0.3", "127.0.0.1"]]);
    let client = client_with(LONG_TIMEOUT, &[ALLOWED_RANGE], Arc::new(names));
    let attempt = post(&client, &format!("http://many.test:{}/", receiver.port())).await;
    assert!(attempt.is_success(), "{attempt:?}");
    let host = format!("host: many.test:{}\r\n", receiver.port());
    assert!(receiver.received()[0].head.contains(&host));
}

#[tokio::test]
async fn many_at_once_reach_one_receiver_once_each() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let (client, url) = (client(), receiver.url());
    for _ in 0..5 {
        let posts = (0..100).map(|_| post(&client, &url));
        let attempts = futures::future::join_all(posts).await;
        assert!(
            attempts
                .iter()
                .all(outbound::callback::CallbackAttempt::is_success)
        );
    }
    assert_eq!(receiver.received().len(), 500);
    assert!(receiver.connections() <= 200, "{}", receiver.connections());
}
