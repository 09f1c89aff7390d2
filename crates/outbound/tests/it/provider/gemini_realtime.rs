//! Gemini without a batch: by flex, and by the standard tier.

use std::time::Duration;

use domain::outcome::CompletionBlock;
use domain::reason_code::FailureCode;
use domain::route::{InferenceMode, Route};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::gemini::realtime::GeminiRealtime;
use outbound::provider::item_result::ItemResult;
use outbound::provider::media::NoMedia;
use outbound::provider::realtime::RealtimeProvider as _;
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio_rustls::rustls::RootCertStore;

use super::{TIMEOUTS, base, item, options, plain_reply_with_headers};
use crate::support::LONG_TIMEOUT;

fn gemini(receiver: &ScriptedReceiver) -> GeminiRealtime {
    GeminiRealtime::new(options(&base(receiver), TIMEOUTS), RootCertStore::empty()).unwrap()
}

async fn complete(
    receiver: &ScriptedReceiver,
    via: InferenceMode,
    within: Duration,
) -> Result<ItemResult, ProviderCallFailure> {
    let route = Route::plain("gemini", "gemini-3-flash", via);
    gemini(receiver)
        .complete_item(&item(1, "Hi"), &route, &NoMedia, within)
        .await
}

async fn complete_with_reply(
    reply: ScriptedReply,
    via: InferenceMode,
) -> Result<ItemResult, ProviderCallFailure> {
    let receiver = ScriptedReceiver::start([reply]).await;
    complete(&receiver, via, LONG_TIMEOUT).await
}

fn response(usage: &Value) -> String {
    let candidate = json!({"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"});
    json!({"candidates": [candidate], "usageMetadata": usage}).to_string()
}

#[tokio::test]
async fn a_flex_request_names_its_tier_and_gets_the_tier_that_served_it() {
    let usage =
        json!({"promptTokenCount": 3, "candidatesTokenCount": 1, "serviceTier": "standard"});
    let receiver = ScriptedReceiver::start([plain_reply(200, &response(&usage))]).await;
    let end = complete(&receiver, InferenceMode::Flex, LONG_TIMEOUT).await;
    let Ok(ItemResult::Answer(answer)) = end else {
        unreachable!("{end:?}")
    };
    let text = CompletionBlock::plain_text("Hello".to_owned());
    assert_eq!(answer.blocks, [text]);
    assert_eq!(answer.tier, Some(InferenceMode::Realtime));
    let request = &receiver.received()[0];
    let path = "POST /v1beta/models/gemini-3-flash:generateContent HTTP/1.1\r\n";
    assert!(request.head.starts_with(path), "{}", request.head);
    assert_eq!(request.header("x-goog-api-key"), Some(super::SECRET));
    let sent: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(sent["serviceTier"], "flex");
    assert_eq!(sent["contents"][0]["parts"][0]["text"], "Hi");
}

#[tokio::test]
async fn the_tier_may_be_in_a_header_and_a_standard_request_names_none() {
    let usage = json!({"promptTokenCount": 3});
    let header = "x-gemini-service-tier: flex\r\n";
    let reply = plain_reply_with_headers(200, header, &response(&usage));
    let receiver = ScriptedReceiver::start([reply]).await;
    let end = complete(&receiver, InferenceMode::Realtime, LONG_TIMEOUT).await;
    let Ok(ItemResult::Answer(answer)) = end else {
        unreachable!("{end:?}")
    };
    assert_eq!(answer.tier, Some(InferenceMode::Flex));
    let sent: Value = serde_json::from_slice(&receiver.received()[0].body).unwrap();
    assert_eq!(sent["serviceTier"], Value::Null);
}

#[tokio::test]
async fn missing_capacity_is_no_failure_of_the_provider() {
    let busy = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    assert_eq!(
        complete_with_reply(plain_reply(503, busy), InferenceMode::Flex).await,
        Err(ProviderCallFailure::NoCapacity { retry_after: None })
    );
    let standard = complete_with_reply(plain_reply(503, busy), InferenceMode::Realtime).await;
    assert!(
        matches!(standard, Err(ProviderCallFailure::Unavailable { .. })),
        "{standard:?}"
    );
    let limited = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(
        complete_with_reply(plain_reply(429, limited), InferenceMode::Flex).await,
        Err(ProviderCallFailure::RateLimited { retry_after: None })
    );
}

#[tokio::test]
async fn a_fault_of_the_item_fails_it() {
    let invalid = r#"{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}"#;
    let end = complete_with_reply(plain_reply(400, invalid), InferenceMode::Flex).await;
    let Ok(ItemResult::Failure { failure, .. }) = end else {
        unreachable!("{end:?}")
    };
    assert_eq!(failure, FailureCode::RequestRejected.with_message("bad"));
}

#[tokio::test]
async fn a_lost_response_may_have_been_billed() {
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let end = complete(&receiver, InferenceMode::Flex, Duration::from_millis(100)).await;
    assert!(
        matches!(end, Err(ProviderCallFailure::Indeterminate(_))),
        "{end:?}"
    );
}

#[tokio::test]
async fn all_pages_of_models_are_listed_without_their_prefix() {
    let receiver = ScriptedReceiver::start([
        plain_reply(
            200,
            r#"{"models":[{"name":"models/b"}],"nextPageToken":"a/b"}"#,
        ),
        plain_reply(200, r#"{"models":[{"name":"models/a"}]}"#),
        plain_reply(200, "{}"),
    ])
    .await;
    let provider = gemini(&receiver);
    let names: Vec<String> = provider.list_models().await.unwrap().into_iter().collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(provider.check_health().await, Ok(()));
    let requests = receiver.received();
    let paths: Vec<&str> = requests
        .iter()
        .map(|it| it.head.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "/v1beta/models?pageSize=1000",
            "/v1beta/models?pageSize=1000&pageToken=a%2Fb",
            "/v1beta/models?pageSize=1",
        ]
    );
}
