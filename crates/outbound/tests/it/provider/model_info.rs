//! Descriptions of single models.

use outbound::provider::client::ProviderCallFailure;
use outbound::provider::model_info::{ModelInfo, ModelInfoApi, ModelInfoClient};
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};
use tokio_rustls::rustls::RootCertStore;

use super::{TIMEOUTS, base, options};

fn client(receiver: &ScriptedReceiver, api: ModelInfoApi) -> ModelInfoClient {
    let options = options(&base(receiver), TIMEOUTS);
    ModelInfoClient::new(options, RootCertStore::empty(), api).unwrap()
}

#[tokio::test]
async fn a_model_is_asked_for_by_its_name() {
    for (api, body, path, header) in [
        (
            ModelInfoApi::Anthropic,
            r#"{"max_input_tokens":200000}"#,
            "GET /v1/models/theirs%2Fa HTTP/1.1\r\n",
            "anthropic-version: 2023-06-01\r\n",
        ),
        (
            ModelInfoApi::Gemini,
            r#"{"inputTokenLimit":200000}"#,
            "GET /v1beta/models/theirs%2Fa HTTP/1.1\r\n",
            "x-goog-api-key: sk-secret\r\n",
        ),
    ] {
        let receiver = ScriptedReceiver::start([plain_reply(200, body)]).await;
        let expected = ModelInfo {
            max_input: Some(200_000),
            ..ModelInfo::default()
        };
        let info = client(&receiver, api).describe("theirs/a").await;
        assert_eq!(info, Ok(Some(expected)));
        let head = &receiver.received()[0].head;
        assert!(head.starts_with(path) && head.contains(header), "{head}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_exist_is_no_failure() {
    let receiver = ScriptedReceiver::start([plain_reply(404, ""), plain_reply(401, "")]).await;
    let client = client(&receiver, ModelInfoApi::Anthropic);
    assert_eq!(client.describe("theirs").await, Ok(None));
    assert_eq!(
        client.describe("theirs").await,
        Err(ProviderCallFailure::Unauthorized)
    );
}
