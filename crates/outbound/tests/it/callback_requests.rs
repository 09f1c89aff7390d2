//! The requests that a receiver sees.

use bytes::Bytes;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};

use crate::support::{client, post};

#[tokio::test]
async fn one_json_post_goes_to_the_exact_url() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "thanks")]).await;
    let url = format!(
        "http://127.0.0.1:{}/a/../b%20c%7e?crate=7&crate=8#top",
        receiver.port()
    );
    let attempt = client()
        .post(&url, Bytes::from_static(br#"{"cargo_id":"crg_1"}"#))
        .await;
    assert!(attempt.is_success(), "{attempt:?}");
    assert_eq!(
        (attempt.status, attempt.response_excerpt.as_ref()),
        (Some(200), &b"thanks"[..])
    );
    let [request] = &receiver.received()[..] else {
        panic!("not one request")
    };
    assert_eq!(request.body, br#"{"cargo_id":"crg_1"}"#);
    let expected = format!(
        "POST /a/../b%20c%7e?crate=7&crate=8 HTTP/1.1\r\n\
         content-type: application/json\r\n\
         user-agent: longshore/{}\r\n\
         host: 127.0.0.1:{}\r\n\
         content-length: 20\r\n\r\n",
        env!("CARGO_PKG_VERSION"),
        receiver.port()
    );
    assert_eq!(request.head, expected);
}

#[tokio::test]
async fn what_is_no_url_is_not_called() {
    for url in [
        "",
        "nonsense",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:99999/",
    ] {
        let attempt = post(&client(), url).await;
        assert_eq!(
            attempt.error.as_deref(),
            Some("callback_url cannot be called"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let body = Bytes::from(vec![b'x'; 3_000_000]);
    assert!(
        client()
            .post(&receiver.url(), body.clone())
            .await
            .is_success()
    );
    assert!(receiver.received()[0].body == body);
}
