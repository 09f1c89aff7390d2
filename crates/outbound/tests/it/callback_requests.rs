//! The requests that a receiver sees.

use bytes::Bytes;
use domain::callback_settings::{CallbackSettings, CallbackSettingsChange};
use domain::callback_signature::{CallbackSigner, SigningRoot, SigningRoots};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
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
        .post(
            &url,
            Bytes::from_static(br#"{"cargo_id":"crg_1"}"#),
            None,
            None,
        )
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
            .post(&receiver.url(), body.clone(), None, None)
            .await
            .is_success()
    );
    assert!(receiver.received()[0].body == body);
}

#[tokio::test]
async fn a_signed_post_has_three_more_headers() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let root = SigningRoot::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    let roots = SigningRoots {
        current: root,
        previous: None,
    };
    let now = Timestamp::from_timestamp(1_763_240_000, 0).unwrap();
    let project = "prj_019b76da807b774b805000000000002a".parse().unwrap();
    let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
    let settings = CallbackSettings::default();
    let settings = settings.apply(CallbackSettingsChange::EnableSigning, now);
    let signer = CallbackSigner::new(&roots, project, &settings.unwrap()).unwrap();
    let body = Bytes::from_static(b"{}");
    let signature = signer.sign(cargo, now, &body);
    let attempt = client()
        .post(&receiver.url(), body, Some(&signature), None)
        .await;
    assert!(attempt.is_success(), "{attempt:?}");
    let head = &receiver.received()[0].head;
    let headers = "webhook-id: crg_019b76da807b774b805000000000002a\r\n\
                   webhook-timestamp: 1763240000\r\n\
                   webhook-signature: v1,hBy8bQT7EesEuw9GQYMvN4DD0FWDfKwJAbMZnamwBTA=\r\n";
    assert!(head.contains(headers), "{head}");
}

#[tokio::test]
async fn a_traced_callback_carries_its_span() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let trace = TraceContext::parse(traceparent);
    let body = Bytes::from_static(b"{}");
    let attempt = client().post(&receiver.url(), body, None, trace).await;
    assert!(attempt.is_success(), "{attempt:?}");
    let requests = receiver.received();
    assert_eq!(requests[0].header("traceparent"), Some(traceparent));
}
