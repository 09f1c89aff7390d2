//! Self-hosted servers, which answer in real time.

use std::time::Duration;

use domain::outcome::Outcome;
use domain::reason_code::FailureCode;
use outbound::provider::client::{ProviderCallFailure, ProviderOptions};
use outbound::provider::item_result::ItemResult;
use outbound::provider::media::NoMedia;
use outbound::provider::realtime::RealtimeProvider;
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio_rustls::rustls::RootCertStore;

use super::{TIMEOUTS, base, item, options, realtime};
use crate::support::LONG_TIMEOUT;

async fn complete_with_reply(reply: ScriptedReply) -> Result<ItemResult, ProviderCallFailure> {
    let receiver = ScriptedReceiver::start([reply]).await;
    let server = realtime(&format!("{}/v1", base(&receiver)), TIMEOUTS);
    server
        .complete_item(&item(1, "Hi"), "theirs", &NoMedia, LONG_TIMEOUT)
        .await
}

#[tokio::test]
async fn an_item_is_asked_and_answered() {
    let body = json!({
        "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop", "stop_reason": "END"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let receiver = ScriptedReceiver::start([plain_reply(200, &body.to_string())]).await;
    let server = realtime(&format!("{}/v1", base(&receiver)), TIMEOUTS);
    let end = server
        .complete_item(&item(1, "Hi"), "theirs", &NoMedia, LONG_TIMEOUT)
        .await;
    let Ok(ItemResult::Outcome {
        outcome: Outcome::Success(completion),
        is_usage_known: true,
    }) = end
    else {
        panic!("{end:?}")
    };
    insta::assert_snapshot!(serde_json::to_string(&completion).unwrap(), @r#"{"id":"msg_01a1df141e0070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello"}],"model":"ours","stop_reason":"stop_sequence","usage":{"input_tokens":3,"output_tokens":1}}"#);
    let request = &receiver.received()[0];
    assert!(
        request
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    let name = format!("x-request-id: {}\r\n", item(1, "Hi").key());
    assert!(request.head.contains(&name));
    let sent: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(sent["model"], "theirs");
}

#[tokio::test]
async fn a_server_that_asks_for_no_credential_is_shown_none() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let options = ProviderOptions {
        credential: None,
        ..options(&base(&receiver), TIMEOUTS)
    };
    let server = RealtimeProvider::new(options, RootCertStore::empty()).unwrap();
    server.check_health().await.unwrap();
    assert!(!receiver.received()[0].head.contains("authorization"));
}

#[tokio::test]
async fn what_is_wrong_with_an_item_fails_it() {
    let too_long =
        r#"{"error":{"code":400,"message":"too long","type":"exceed_context_size_error"}}"#;
    let failed = |code: FailureCode, message: &str| {
        Ok(ItemResult::Outcome {
            outcome: Outcome::Failure(code.with_message(message)),
            is_usage_known: true,
        })
    };
    assert_eq!(
        complete_with_reply(plain_reply(400, too_long)).await,
        failed(FailureCode::RequestRejected, "too long")
    );
    let flat = r#"{"object":"error","message":"bad","type":"BadRequestError","code":422}"#;
    assert_eq!(
        complete_with_reply(plain_reply(422, flat)).await,
        failed(FailureCode::RequestRejected, "bad")
    );
    assert_eq!(
        complete_with_reply(plain_reply(413, "")).await,
        failed(
            FailureCode::RequestTooLarge,
            "the request is too large for the model server"
        )
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_its_failure() {
    let busy = ProviderCallFailure::RateLimited { retry_after: None };
    assert_eq!(complete_with_reply(plain_reply(429, "")).await, Err(busy));
    assert_eq!(
        complete_with_reply(plain_reply(401, "")).await,
        Err(ProviderCallFailure::Unauthorized)
    );
    // The server does not have the model; another server may.
    assert_eq!(
        complete_with_reply(plain_reply(404, "")).await,
        Err(ProviderCallFailure::NotFound)
    );
    for reply in [
        plain_reply(500, ""),
        plain_reply(503, ""),
        ScriptedReply::SendAndClose(Vec::new()),
    ] {
        let result = complete_with_reply(reply.clone()).await;
        assert!(
            matches!(result, Err(ProviderCallFailure::Unavailable { .. })),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let server = realtime(&base(&receiver), TIMEOUTS);
    let within = Duration::from_millis(100);
    let result = server
        .complete_item(&item(1, "Hi"), "theirs", &NoMedia, within)
        .await;
    assert!(matches!(
        result,
        Err(ProviderCallFailure::Unavailable { .. })
    ));
}

#[tokio::test]
async fn a_server_is_well_when_it_says_so_or_lists_its_models() {
    let models = r#"{"object":"list","data":[{"id":"b"},{"id":"a"}]}"#;
    let receiver = ScriptedReceiver::start([
        plain_reply(200, ""),
        plain_reply(404, ""),
        plain_reply(200, models),
    ])
    .await;
    let here = realtime(&format!("{}/v1", base(&receiver)), TIMEOUTS);
    assert_eq!(here.check_health().await, Ok(()));
    assert_eq!(here.check_health().await, Ok(()));
    let names: Vec<String> = here.list_models().await.unwrap().into_iter().collect();
    assert_eq!(names, ["a", "b"]);
    let heads = receiver.received();
    let paths: Vec<&str> = heads
        .iter()
        .map(|it| it.head.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(paths, ["/health", "/health", "/v1/models", "/v1/models"]);

    let loading = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let receiver = ScriptedReceiver::start([plain_reply(503, loading)]).await;
    let away = realtime(&base(&receiver), TIMEOUTS).check_health().await;
    assert!(matches!(away, Err(ProviderCallFailure::Unavailable { .. })));
}
