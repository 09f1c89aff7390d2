//! Which responses count as acknowledged, and how much of a response is read.

use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use crate::support::{attempt_error, client, post};

#[tokio::test]
async fn only_200_to_299_is_success() {
    for status in [200, 201, 202, 204, 206, 226, 299] {
        let receiver = ScriptedReceiver::start([plain_reply(status, "")]).await;
        let attempt = post(&client(), &receiver.url()).await;
        assert!(attempt.is_success(), "{attempt:?}");
        assert_eq!(attempt.status, Some(status));
    }
    for status in [300, 304, 400, 404, 410, 418, 429, 500, 503, 599, 600, 999] {
        let receiver = ScriptedReceiver::start([plain_reply(status, "no")]).await;
        let attempt = post(&client(), &receiver.url()).await;
        assert!(!attempt.is_success(), "{attempt:?}");
        assert_eq!((attempt.status, attempt.error), (Some(status), None));
        assert_eq!(receiver.received().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = ScriptedReceiver::start([plain_reply(200, "")]).await;
    for status in [300, 301, 302, 303, 307, 308] {
        let location = elsewhere.url();
        let answer =
            format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let receiver = ScriptedReceiver::start([ScriptedReply::Send(answer.into())]).await;
        let attempt = post(&client(), &receiver.url()).await;
        assert_eq!(attempt_error(&attempt), "redirects are not followed");
        assert_eq!(attempt.status, Some(status));
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn of_a_long_answer_the_start_is_kept_and_the_rest_left_unread() {
    let endless = b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n".to_vec();
    let receiver =
        ScriptedReceiver::start([ScriptedReply::Flood(endless, vec![b'x'; 16_384])]).await;
    let attempt = post(&client(), &receiver.url()).await;
    assert!(attempt.is_success(), "{attempt:?}");
    assert_eq!(attempt.response_excerpt, vec![b'x'; 1024]);
    // The client closes the connection, or the flood would not end.
    receiver.wait_for_close().await;
}

#[tokio::test]
async fn an_answer_of_exactly_the_limit_keeps_its_connection() {
    let receiver = ScriptedReceiver::start([plain_reply(200, &"x".repeat(64 * 1024))]).await;
    let client = client();
    for _ in 0..3 {
        assert!(post(&client, &receiver.url()).await.is_success());
    }
    assert_eq!((receiver.connections(), receiver.received().len()), (1, 3));
}

#[tokio::test]
async fn the_kept_start_is_put_together_from_pieces() {
    let body: String = ('a'..='z').cycle().take(1500).collect();
    let chunks: String = body
        .as_bytes()
        .chunks(400)
        .map(|piece| chunk(std::str::from_utf8(piece).unwrap()))
        .collect();
    let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(answer.into())]).await;
    let attempt = post(&client(), &receiver.url()).await;
    assert!(attempt.is_success());
    assert_eq!(attempt.response_excerpt, &body.as_bytes()[..1024]);
}

fn chunk(piece: &str) -> String {
    format!("{:x}\r\n{piece}\r\n", piece.len())
}

#[tokio::test]
async fn nothing_is_unpacked() {
    let answer =
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8b\x08";
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(answer.to_vec())]).await;
    let attempt = post(&client(), &receiver.url()).await;
    assert!(attempt.is_success());
    assert_eq!(attempt.response_excerpt.as_ref(), b"\x1f\x8b\x08");
    assert!(!receiver.received()[0].head.contains("accept-encoding"));
}

#[tokio::test]
async fn an_old_server_may_end_its_answer_by_closing() {
    let answer = b"HTTP/1.0 200 OK\r\n\r\nwhole".to_vec();
    let receiver = ScriptedReceiver::start([ScriptedReply::SendAndClose(answer)]).await;
    let attempt = post(&client(), &receiver.url()).await;
    assert!(attempt.is_success(), "{attempt:?}");
    assert_eq!(attempt.response_excerpt.as_ref(), b"whole");
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let answer = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(answer.to_vec())]).await;
    assert!(post(&client(), &receiver.url()).await.is_success());
}

#[tokio::test]
async fn floods_before_the_answer_are_not_swallowed() {
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
        .repeat(100)
        .into_bytes();
    let headers = "x-flood: 1\r\n".repeat(100).into_bytes();
    let start = b"HTTP/1.1 200 OK\r\n".to_vec();
    let line = b"HTTP/1.1 200 OK\r\nx-long: ".to_vec();
    for (reply, text) in [
        (
            ScriptedReply::Flood(Vec::new(), hints),
            "answer is too long",
        ),
        (
            ScriptedReply::Flood(start, headers),
            "answer has too many or too long headers",
        ),
        (
            ScriptedReply::Flood(line, vec![b'x'; 8192]),
            "answer has too many or too long headers",
        ),
        (
            ScriptedReply::Flood(Vec::new(), b"garbage ".repeat(100)),
            "answer is not HTTP/1.1",
        ),
    ] {
        let receiver = ScriptedReceiver::start([reply]).await;
        let attempt = post(&client(), &receiver.url()).await;
        assert_eq!((attempt_error(&attempt), attempt.status), (text, None));
        receiver.wait_for_close().await;
    }
}
