//! Servers of one's own, that answer while one waits.

use std::time::Duration;

use domain::outcome::Outcome;
use outbound::provider::call::{CallFailure, Options};
use outbound::provider::ending::ItemEnd;
use outbound::provider::media::NoMedia;
use outbound::provider::server::Server;
use serde_json::{Value, json};
use tokio_rustls::rustls::RootCertStore;

use super::{PATIENCE, base, item, options, server};
use crate::support::{AMPLE, Receiver, Reply, plain};

async fn asked(reply: Reply) -> Result<ItemEnd, CallFailure> {
    let receiver = Receiver::start([reply]).await;
    let server = server(&format!("{}/v1", base(&receiver)), PATIENCE);
    server.ask(&item(1, "Hi"), "theirs", &NoMedia, AMPLE).await
}

#[tokio::test]
async fn an_item_is_asked_and_answered() {
    let body = json!({
        "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop", "stop_reason": "END"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let receiver = Receiver::start([plain(200, &body.to_string())]).await;
    let server = server(&format!("{}/v1", base(&receiver)), PATIENCE);
    let end = server.ask(&item(1, "Hi"), "theirs", &NoMedia, AMPLE).await;
    let Ok(ItemEnd::Outcome {
        outcome: Outcome::Success(completion),
        usage_known: true,
    }) = end
    else {
        panic!("{end:?}")
    };
    insta::assert_snapshot!(serde_json::to_string(&completion).unwrap(), @r#"{"id":"msg_01a1df141e0070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello"}],"model":"ours","stop_reason":"stop_sequence","usage":{"input_tokens":3,"output_tokens":1}}"#);
    let heard = &receiver.received()[0];
    assert!(
        heard
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    let name = format!("x-request-id: {}\r\n", item(1, "Hi").key());
    assert!(heard.head.contains(&name));
    let sent: Value = serde_json::from_slice(&heard.body).unwrap();
    assert_eq!(sent["model"], "theirs");
}

#[tokio::test]
async fn a_server_that_asks_for_no_credential_is_shown_none() {
    let receiver = Receiver::start([plain(200, "")]).await;
    let options = Options {
        credential: None,
        ..options(&base(&receiver), PATIENCE)
    };
    let server = Server::new(options, RootCertStore::empty()).unwrap();
    server.health().await.unwrap();
    assert!(!receiver.received()[0].head.contains("authorization"));
}

#[tokio::test]
async fn what_is_wrong_with_an_item_fails_it() {
    let too_long =
        r#"{"error":{"code":400,"message":"too long","type":"exceed_context_size_error"}}"#;
    let failed = |why: &str| {
        let outcome = Outcome::Failure(why.to_owned());
        Ok(ItemEnd::Outcome {
            outcome,
            usage_known: true,
        })
    };
    assert_eq!(asked(plain(400, too_long)).await, failed("too long"));
    let flat = r#"{"object":"error","message":"bad","type":"BadRequestError","code":422}"#;
    assert_eq!(asked(plain(422, flat)).await, failed("bad"));
    assert_eq!(
        asked(plain(413, "")).await,
        failed("too large for the model's server")
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_its_failure() {
    let busy = CallFailure::Busy { retry_after: None };
    assert_eq!(asked(plain(429, "")).await, Err(busy));
    assert_eq!(asked(plain(401, "")).await, Err(CallFailure::Unauthorized));
    // The model is not there: another server may have it.
    assert_eq!(asked(plain(404, "")).await, Err(CallFailure::NotFound));
    for reply in [
        plain(500, ""),
        plain(503, ""),
        Reply::SendAndClose(Vec::new()),
    ] {
        let asked = asked(reply.clone()).await;
        assert!(
            matches!(asked, Err(CallFailure::Unavailable { .. })),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let receiver = Receiver::start([Reply::Silence]).await;
    let server = server(&base(&receiver), PATIENCE);
    let within = Duration::from_millis(100);
    let asked = server.ask(&item(1, "Hi"), "theirs", &NoMedia, within).await;
    assert!(matches!(asked, Err(CallFailure::Unavailable { .. })));
}

#[tokio::test]
async fn a_server_is_well_when_it_says_so_or_lists_its_models() {
    let models = r#"{"object":"list","data":[{"id":"b"},{"id":"a"}]}"#;
    let receiver = Receiver::start([plain(200, ""), plain(404, ""), plain(200, models)]).await;
    let here = server(&format!("{}/v1", base(&receiver)), PATIENCE);
    assert_eq!(here.health().await, Ok(()));
    assert_eq!(here.health().await, Ok(()));
    let names: Vec<String> = here.models().await.unwrap().into_iter().collect();
    assert_eq!(names, ["a", "b"]);
    let heads = receiver.received();
    let paths: Vec<&str> = heads
        .iter()
        .map(|it| it.head.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(paths, ["/health", "/health", "/v1/models", "/v1/models"]);

    let loading = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let receiver = Receiver::start([plain(503, loading)]).await;
    let away = server(&base(&receiver), PATIENCE).health().await;
    assert!(matches!(away, Err(CallFailure::Unavailable { .. })));
}
