//! Input lines must not change between releases, and result lines may contain anything.

use std::fmt::Write as _;

use domain::id::OrganizationId;
use domain::route::{InferenceMode, Route};
use outbound::provider::BatchItem;
use outbound::provider::batch_provider::ENCODER_VERSION;
use outbound::provider::media::NoMedia;
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::{TIMEOUTS, batch_providers, item, spool};

/// A later release may rebuild a job to submit it again. If this test fails, raise
/// `ENCODER_VERSION`.
#[tokio::test]
async fn a_job_submitted_under_this_version_can_be_rebuilt() {
    let chat = json!({
        "model": "ours", "max_tokens": 50, "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a\nb"}]},
            {"role": "assistant", "content": "c"},
            {"role": "user", "content": "\"é\u{0}\u{2028}"},
        ],
        "temperature": 0.1, "top_p": 1e-7, "top_k": 40, "stop_sequences": ["END"],
    });
    let organization = OrganizationId::from_uuid(Uuid::nil());
    let short = BatchItem {
        organization,
        ..item(1, "Hi")
    };
    let full = BatchItem {
        organization,
        params: serde_json::from_value(chat).unwrap(),
        ..item(2, "")
    };
    let route = Route::plain("account", "theirs", InferenceMode::Batch);
    let mut digests = format!("encoder {ENCODER_VERSION}\n");
    for provider in batch_providers("http://127.0.0.1:1", TIMEOUTS) {
        let mut spool = spool().await;
        for item in [&short, &full] {
            let line = provider.encode(item, &route, &NoMedia).unwrap();
            spool.write(&line).await.unwrap();
        }
        writeln!(digests, "{}", hex::encode(spool.sha256().0)).unwrap();
    }
    insta::assert_snapshot!(digests, @r"
    encoder 2
    ed54a5a0fcc224d0bedecca496b5d59eca92c8c44ce7cc1e80ef0a9bb7e9ec19
    bd615241da37801b10e8bd0224675c1b4e3bf88609baf893ee2a8eccc51a10fa
    e4ed2c3b3445cb1a631e8596b64f245c129f63a0e23333159fc47f510c154f23
    ");
}

/// A valid result line of each provider, in the order of `batch_providers`.
fn valid_result_lines() -> [String; 3] {
    let key = item(1, "").key().to_string();
    let body = json!({
        "choices": [{"message": {"content": "t"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let message = json!({
        "content": [{"type": "text", "text": "t"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    let response = json!({
        "candidates": [{"content": {"parts": [{"text": "t"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    });
    [
        json!({"custom_id": key, "response": {"status_code": 200, "body": body}}).to_string(),
        json!({"custom_id": key, "result": {"type": "succeeded", "message": message}}).to_string(),
        json!({"key": key, "response": response}).to_string(),
    ]
}

proptest! {
    /// A changed line is decoded or refused, but never matched to another item.
    #[test]
    fn a_changed_line_never_belongs_to_another_item(
        at: prop::sample::Index,
        with in prop::collection::vec(any::<u8>(), 0..8),
        length in 0_usize..30,
    ) {
        for (provider, line) in batch_providers("http://127.0.0.1:1", TIMEOUTS).iter().zip(valid_result_lines()) {
            let item_of = |line: &[u8]| provider.decode_result(line).map(|(key, _)| key);
            prop_assert_eq!(item_of(line.as_bytes()), Ok(item(1, "").key()));
            let at = at.index(line.len());
            let mut bytes = line.into_bytes();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
            if let Ok(key) = item_of(&bytes) {
                let name = key.to_string();
                prop_assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()));
            }
        }
    }
}
