//! What a provider would bill, and what its caches save.

use std::time::Duration;

use serde_json::{Value, json};
use simulator::{SimulatedBillLine, SimulatedProvider, SimulatedTier};

use crate::support::{TEST_KEY, TestSimulator};

/// A message with a long marked prefix.
fn message(text: &str, ttl: &str) -> Value {
    let system = json!([{
        "type": "text",
        "text": "rule ".repeat(80),
        "cache_control": {"type": "ephemeral", "ttl": ttl},
    }]);
    json!({"model": "claude-sim", "max_tokens": 50, "system": system,
        "messages": [{"role": "user", "content": text}]})
}

fn cache_counts(usage: &Value) -> [u64; 3] {
    let names = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    names.map(|name| usage[name].as_u64().unwrap())
}

#[tokio::test]
async fn a_marked_prefix_is_written_once_and_read_until_it_expires() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let usage = async |text: &str| {
        let body = message(text, "5m");
        let answer = stage.post("/v1/messages", &body).await.expect_ok();
        answer["usage"].clone()
    };
    // The prefix has 400 bytes, and each text one token.
    assert_eq!(cache_counts(&usage("one").await), [1, 100, 0]);
    assert_eq!(cache_counts(&usage("two").await), [1, 0, 100]);
    stage.simulator.advance(Duration::from_mins(5));
    assert_eq!(cache_counts(&usage("six").await), [1, 100, 0]);
}

#[tokio::test]
async fn accounts_share_no_cache() {
    let mut stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    stage
        .post("/v1/messages", &message("one", "1h"))
        .await
        .expect_ok();
    stage.key = "sk-other".to_owned();
    let answer = stage
        .post("/v1/messages", &message("one", "1h"))
        .await
        .expect_ok();
    assert_eq!(cache_counts(&answer["usage"]), [1, 100, 0]);
    let split = &answer["usage"]["cache_creation"];
    assert_eq!(split["ephemeral_1h_input_tokens"], 100);
}

#[tokio::test]
async fn the_bill_of_a_job_grows_with_its_items() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let item = |id: &str, text: &str| json!({"custom_id": id, "params": message(text, "1h")});
    let requests = [
        item("a", "one"),
        item("b", "two"),
        item("c", "[[fail 500]]"),
        item("d", "[sim:refuse-empty]"),
    ];
    let body = json!({"requests": requests});
    stage.post("/v1/messages/batches", &body).await.expect_ok();
    let bill = || stage.simulator.bill(SimulatedProvider::Anthropic, TEST_KEY);
    assert_eq!(bill(), []);
    stage.finish_jobs();
    let expected = SimulatedBillLine {
        model: "claude-sim".to_owned(),
        tier: SimulatedTier::Batch,
        // The refusal is on the bill with nothing.
        requests: 3,
        fresh: 2,
        cached: 100,
        cache_write: 0,
        cache_write_1h: 100,
        output: 4,
        thinking: 0,
    };
    assert_eq!(bill(), [expected]);
    let url = format!(
        "http://{}/admin/anthropic/{TEST_KEY}/bill",
        stage.simulator.address()
    );
    let shown = stage.get(&url).await.expect_ok();
    assert_eq!(shown[0]["tier"], "batch");
    assert_eq!(shown[0]["cache_write_1h"], 100);
}

#[tokio::test]
async fn a_newer_model_writes_every_prompt_unless_told_not_to() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let text = "word ".repeat(1000);
    let mut body = json!({"model": "gpt-5.6", "messages": [{"role": "user", "content": text}]});
    let details = async |body: &Value| {
        let answer = stage.post("/v1/chat/completions", body).await.expect_ok();
        answer["usage"]["prompt_tokens_details"].clone()
    };
    assert_eq!(details(&body).await["cache_write_tokens"], 1250);
    assert_eq!(details(&body).await["cached_tokens"], 1250);
    body["prompt_cache_options"] = json!({"mode": "explicit"});
    let none = json!({"cached_tokens": 0, "audio_tokens": 0});
    assert_eq!(details(&body).await, none);
    let part =
        json!({"type": "text", "text": text, "prompt_cache_breakpoint": {"mode": "explicit"}});
    body["messages"][0]["content"] = json!([part, {"type": "text", "text": "and now"}]);
    body["prompt_cache_key"] = json!("tenant");
    assert_eq!(details(&body).await["cache_write_tokens"], 1250);
}
