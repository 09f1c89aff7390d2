//! Servers and accounts that answer in real time.

use std::time::Duration;

use domain::outcome::Outcome;
use domain::reason_code::FailureCode;
use domain::response_shape::ResponseShape;
use domain::route::{ChatApi, InferenceMode, Route};
use outbound::provider::client::{ProviderCallFailure, ProviderOptions};
use outbound::provider::item_result::{ItemBill, ItemResult};
use outbound::provider::media::NoMedia;
use outbound::provider::openai::OpenAiService;
use outbound::provider::realtime::{
    OpenAiRealtime, ProbedFeatures, RealtimeProvider as _, ServerDialect,
};
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio_rustls::rustls::RootCertStore;

use super::{SECRET, TIMEOUTS, base, item, options};
use crate::support::LONG_TIMEOUT;

fn route(via: InferenceMode) -> Route {
    Route::plain("account", "theirs", via)
}

fn server(base: &str) -> OpenAiRealtime {
    let options = options(base, TIMEOUTS);
    OpenAiRealtime::new(options, RootCertStore::empty(), ServerDialect::SelfHosted).unwrap()
}

fn service(base: &str, service: OpenAiService) -> OpenAiRealtime {
    let options = options(base, TIMEOUTS);
    OpenAiRealtime::for_service(options, RootCertStore::empty(), service).unwrap()
}

async fn complete_with_reply(reply: ScriptedReply) -> Result<ItemResult, ProviderCallFailure> {
    let receiver = ScriptedReceiver::start([reply]).await;
    let server = server(&format!("{}/v1", base(&receiver)));
    let route = route(InferenceMode::Realtime);
    server
        .complete_item(&item(1, "Hi"), &route, &NoMedia, LONG_TIMEOUT)
        .await
}

#[tokio::test]
async fn an_item_is_asked_and_answered() {
    let body = json!({
        "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop", "stop_reason": "END"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let receiver = ScriptedReceiver::start([plain_reply(200, &body.to_string())]).await;
    let server = server(&format!("{}/v1", base(&receiver)));
    let asked = item(1, "Hi");
    let route = route(InferenceMode::Realtime);
    let end = server
        .complete_item(&asked, &route, &NoMedia, LONG_TIMEOUT)
        .await;
    let Ok(ItemResult::Answer(answer)) = end else {
        unreachable!("{end:?}")
    };
    let judged = answer.into_outcome(asked.cargo, "ours", ResponseShape::default(), &[]);
    let Outcome::Success(completion) = judged.outcome else {
        unreachable!("{judged:?}")
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
    let roots = RootCertStore::empty();
    let server = OpenAiRealtime::new(options, roots, ServerDialect::SelfHosted).unwrap();
    server.check_health().await.unwrap();
    assert!(!receiver.received()[0].head.contains("authorization"));
}

#[tokio::test]
async fn what_is_wrong_with_an_item_fails_it() {
    let too_long =
        r#"{"error":{"code":400,"message":"too long","type":"exceed_context_size_error"}}"#;
    let failed = |code: FailureCode, message: &str| {
        Ok(ItemResult::Failure {
            failure: code.with_message(message),
            billed: ItemBill::default(),
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
            "the request is too large for the provider"
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
    let within = Duration::from_millis(100);
    let realtime = route(InferenceMode::Realtime);
    let result = server(&base(&receiver))
        .complete_item(&item(1, "Hi"), &realtime, &NoMedia, within)
        .await;
    assert!(matches!(
        result,
        Err(ProviderCallFailure::Unavailable { .. })
    ));
    // A provider bills the answer although it was late.
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let result = service(&base(&receiver), OpenAiService::OPENAI)
        .complete_item(&item(1, "Hi"), &realtime, &NoMedia, within)
        .await;
    assert!(matches!(result, Err(ProviderCallFailure::Indeterminate(_))));
}

#[tokio::test]
async fn a_flex_request_names_its_tier_and_may_find_no_capacity() {
    let body = json!({
        "status": "completed", "service_tier": "flex",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
        "usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4},
    });
    let full = r#"{"error":{"message":"m","code":"resource_unavailable"}}"#;
    let receiver = ScriptedReceiver::start([
        plain_reply(200, &body.to_string()),
        plain_reply(429, full),
        plain_reply(429, full),
    ])
    .await;
    let account = service(&format!("{}/v1", base(&receiver)), OpenAiService::OPENAI);
    let flex = Route {
        api: ChatApi::Responses,
        ..route(InferenceMode::Flex)
    };
    let asked = item(1, "Hi");
    let end = account
        .complete_item(&asked, &flex, &NoMedia, LONG_TIMEOUT)
        .await;
    let Ok(ItemResult::Answer(answer)) = end else {
        unreachable!("{end:?}")
    };
    assert_eq!(answer.tier, Some(InferenceMode::Flex));
    let end = account
        .complete_item(&asked, &flex, &NoMedia, LONG_TIMEOUT)
        .await;
    let no_capacity = ProviderCallFailure::NoCapacity { retry_after: None };
    assert_eq!(end, Err(no_capacity));
    let realtime = route(InferenceMode::Realtime);
    let end = account
        .complete_item(&asked, &realtime, &NoMedia, LONG_TIMEOUT)
        .await;
    let busy = ProviderCallFailure::RateLimited { retry_after: None };
    assert_eq!(end, Err(busy));
    let posts = receiver.received();
    let tiers = posts.iter().map(|request| {
        let path = request.head.split(' ').nth(1).unwrap();
        let sent: Value = serde_json::from_slice(&request.body).unwrap();
        format!("{path} {}", sent["service_tier"])
    });
    let tiers: Vec<String> = tiers.collect();
    assert_eq!(
        tiers,
        [
            "/v1/responses \"flex\"",
            "/v1/responses \"flex\"",
            "/v1/chat/completions null"
        ]
    );
}

#[tokio::test]
async fn azure_gets_the_credential_in_its_own_header() {
    let models = r#"{"data":[{"id":"a"}]}"#;
    let receiver = ScriptedReceiver::start([plain_reply(200, models)]).await;
    let account = service(
        &format!("{}/openai/v1", base(&receiver)),
        OpenAiService::AZURE,
    );
    account.check_health().await.unwrap();
    let head = &receiver.received()[0].head;
    assert!(
        head.starts_with("GET /openai/v1/models HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains(&format!("api-key: {SECRET}\r\n")));
    assert!(!head.contains("authorization"));
}

#[tokio::test]
async fn a_server_shows_which_features_it_has() {
    let choice = |message: Value| json!({"choices": [{"message": message}]}).to_string();
    let function = json!({"name": "report_color", "arguments": "{\"color\":\"green\"}"});
    let called = choice(json!({"content": null, "tool_calls": [{"function": function}]}));
    let followed = choice(json!({"content": "{\"color\":\"green\"}"}));
    let prose = choice(json!({"content": "Grass is green."}));
    for (replies, tools, schemas) in [
        (
            [plain_reply(200, &called), plain_reply(200, &followed)],
            true,
            true,
        ),
        (
            [plain_reply(200, &prose), plain_reply(200, &prose)],
            false,
            false,
        ),
        (
            [plain_reply(400, ""), plain_reply(200, &followed)],
            false,
            true,
        ),
    ] {
        let receiver = ScriptedReceiver::start(replies).await;
        let probed = server(&base(&receiver)).probe_features("theirs").await;
        assert_eq!(probed, Ok(ProbedFeatures { tools, schemas }));
    }
    let receiver = ScriptedReceiver::start([plain_reply(503, "")]).await;
    let away = server(&base(&receiver)).probe_features("theirs").await;
    assert!(matches!(away, Err(ProviderCallFailure::Unavailable { .. })));
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
    let here = server(&format!("{}/v1", base(&receiver)));
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
    let away = server(&base(&receiver)).check_health().await;
    assert!(matches!(away, Err(ProviderCallFailure::Unavailable { .. })));
}
