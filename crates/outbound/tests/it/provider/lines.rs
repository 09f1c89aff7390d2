//! Lines: what we send never changes by itself, and what comes back may be anything.

use std::fmt::Write as _;

use outbound::provider::Item;
use outbound::provider::jobs::ENCODER;
use outbound::provider::media::NoMedia;
use proptest::prelude::*;
use serde_json::json;

use super::{PATIENCE, every, item, spool};

/// A job is rebuilt to be sent again, by whichever release is there then. If this fails, raise
/// the number of the encoder.
#[tokio::test]
async fn what_was_submitted_under_this_number_can_be_built_again() {
    let chat = json!({
        "model": "ours", "max_tokens": 50, "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a\nb"}]},
            {"role": "assistant", "content": "c"},
            {"role": "user", "content": "\"é\u{0}\u{2028}"},
        ],
        "temperature": 0.1, "top_p": 1e-7, "top_k": 40, "stop_sequences": ["END"],
    });
    let full = Item {
        params: serde_json::from_value(chat).unwrap(),
        ..item(2, "")
    };
    let mut digests = format!("encoder {ENCODER}\n");
    for provider in every("http://127.0.0.1:1", PATIENCE) {
        let mut spool = spool().await;
        for item in [&item(1, "Hi"), &full] {
            let line = provider.encode(item, "theirs", &NoMedia).unwrap();
            spool.write(&line).await.unwrap();
        }
        writeln!(digests, "{}", hex::encode(spool.sha256().0)).unwrap();
    }
    insta::assert_snapshot!(digests, @r"
    encoder 1
    d2bc7f38c3d7e2c05ad21425873e30535543027d98c48ae9c54d869f432aefab
    dd3f2bea2cdedab8c36bd4893a844baeb805872a6a72241417a23c9850d31854
    e4ed2c3b3445cb1a631e8596b64f245c129f63a0e23333159fc47f510c154f23
    ");
}

/// A good line of each, in the order of `every`.
fn good() -> [String; 3] {
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
    /// Whatever stands there, it is read or it is not; it is never taken for another's.
    #[test]
    fn a_line_with_other_bytes_in_it_is_nobody_elses(
        at: prop::sample::Index,
        with in prop::collection::vec(any::<u8>(), 0..8),
        length in 0_usize..30,
    ) {
        for (provider, line) in every("http://127.0.0.1:1", PATIENCE).iter().zip(good()) {
            let whose = |line: &[u8]| provider.decode(line, "ours").map(|(key, _)| key);
            prop_assert_eq!(whose(line.as_bytes()), Ok(item(1, "").key()));
            let at = at.index(line.len());
            let mut bytes = line.into_bytes();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
            if let Ok(key) = whose(&bytes) {
                let name = key.to_string();
                prop_assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()));
            }
        }
    }
}
