//! `OpenAI`'s batches without faults.

use serde_json::{Value, json};
use simulator::{SimulatedPace, SimulatedProvider, rule};

use crate::support::{TestSimulator, openai_line};

#[tokio::test]
async fn a_new_batch_has_every_field_and_most_are_null() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let file = stage.upload(openai_line("a0", "hello")).await;
    assert!(file.header("x-request-id").unwrap().starts_with("req_"));
    let file = file.expect_ok();
    assert_eq!(file["object"], "file");
    assert_eq!(file["purpose"], "batch");
    assert_eq!(file["expires_at"], Value::Null);
    let id = file["id"].as_str().unwrap();
    let again = stage.get(&format!("/v1/files/{id}")).await.expect_ok();
    let created_at = again["created_at"].as_i64().unwrap();
    assert_eq!(again["expires_at"], created_at + 2_592_000);

    let body = json!({"input_file_id": id, "endpoint": "/v1/chat/completions",
        "completion_window": "24h", "metadata": {"submission_id": "s"}});
    let batch = stage.post("/v1/batches", &body).await.expect_ok();
    assert_eq!(batch["status"], "validating");
    assert_eq!(
        batch["request_counts"],
        json!({"total": 0, "completed": 0, "failed": 0})
    );
    assert_eq!(
        batch["expires_at"],
        batch["created_at"].as_i64().unwrap() + 86_400
    );
    let unset = [
        "errors",
        "output_file_id",
        "error_file_id",
        "in_progress_at",
        "finalizing_at",
        "completed_at",
        "failed_at",
        "expired_at",
        "cancelling_at",
        "cancelled_at",
    ];
    for name in unset {
        assert!(batch.as_object().unwrap().contains_key(name), "{name}");
        assert_eq!(batch[name], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn a_batch_goes_through_its_states_by_the_clock() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let id = &stage.create_batch(&["hello"]).await;
    for (ms, status) in [
        (99, "validating"),
        (1, "in_progress"),
        (200, "finalizing"),
        (100, "completed"),
    ] {
        stage.advance_ms(ms);
        assert_eq!(stage.get_batch(id).await["status"], status);
    }
    let done = stage.get_batch(id).await;
    assert_eq!(
        done["request_counts"],
        json!({"total": 1, "completed": 1, "failed": 0})
    );
    assert_eq!(done["error_file_id"], Value::Null);
    assert_eq!(done["metadata"]["submission_id"], "sub-1");
    let output = stage.get_content(&done["output_file_id"]).await;
    let id = done["output_file_id"].as_str().unwrap();
    let size = stage.get(&format!("/v1/files/{id}")).await.expect_ok();
    assert_eq!(size["bytes"], output.body.len());
    assert_eq!(size["purpose"], "batch_output");
    let line = &output.lines()[0];
    assert_eq!(line["custom_id"], "a0");
    assert_eq!(line["error"], Value::Null);
    assert_eq!(line["response"]["status_code"], 200);
    let choice = &line["response"]["body"]["choices"][0];
    assert_eq!(choice["message"]["content"], rule::chat_text("hello"));
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &line["response"]["body"]["usage"];
    assert_eq!(usage["prompt_tokens"], rule::input_tokens("hello".len()));
    assert_eq!(usage["completion_tokens"], 2);
}

#[tokio::test]
async fn directives_act_on_their_own_item_alone() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let texts = [
        "plain",
        "[[fail 429]]",
        "[[blocked]]",
        "[[refuse]]",
        "[[no-usage]]",
        "[[absurd-usage]]",
        "[[stop tool_calls]]",
        "[[missing]]",
        "[[twice]]",
    ];
    let id = stage.create_batch(&texts).await;
    stage.finish_jobs();
    let done = stage.get_batch(&id).await;
    assert_eq!(
        done["request_counts"],
        json!({"total": 9, "completed": 8, "failed": 1})
    );
    let output = stage.get_content(&done["output_file_id"]).await.lines();
    let of = |id: &str| -> Vec<&Value> {
        output
            .iter()
            .filter(|line| line["custom_id"] == id)
            .map(|line| &line["response"]["body"])
            .collect()
    };
    assert_eq!(of("a2")[0]["choices"][0]["finish_reason"], "content_filter");
    assert_eq!(of("a2")[0]["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(of("a3")[0]["choices"][0]["message"]["content"], Value::Null);
    assert!(of("a3")[0]["choices"][0]["message"]["refusal"].is_string());
    assert_eq!(of("a4")[0].get("usage"), None);
    assert!(of("a5")[0]["usage"]["prompt_tokens"].as_u64().unwrap() > 1_000_000_000_000);
    assert_eq!(of("a6")[0]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!((of("a7").len(), of("a8").len()), (0, 2));
    let errors = stage.get_content(&done["error_file_id"]).await.lines();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error"], Value::Null);
    assert_eq!(errors[0]["response"]["status_code"], 429);
    assert!(errors[0]["response"]["body"]["error"]["message"].is_string());
}

#[tokio::test]
async fn a_cancelled_batch_keeps_what_was_done() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    stage.set_pace(SimulatedPace {
        running_ms: 1000,
        ..SimulatedPace::default()
    });
    let id = stage.create_batch(&["one", "two", "three", "four"]).await;
    stage.advance_ms(100 + 500);
    let cancelling = stage
        .post(&format!("/v1/batches/{id}/cancel"), &json!({}))
        .await
        .expect_ok();
    assert_eq!(cancelling["status"], "cancelling");
    assert_eq!(cancelling["request_counts"]["completed"], 2);
    stage.advance_ms(100);
    let cancelled = stage.get_batch(&id).await;
    assert_eq!(cancelled["status"], "cancelled");
    let output = stage
        .get_content(&cancelled["output_file_id"])
        .await
        .lines();
    let errors = stage.get_content(&cancelled["error_file_id"]).await.lines();
    assert_eq!((output.len(), errors.len()), (2, 2));
    assert_eq!(errors[0]["error"]["code"], "batch_cancelled");
    assert_eq!(errors[0]["response"], Value::Null);
    let again = stage
        .post(&format!("/v1/batches/{id}/cancel"), &json!({}))
        .await;
    assert_eq!(again.status, 409);
}

#[tokio::test]
async fn lists_are_newest_first_in_pages() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(stage.create_batch(&["x"]).await);
    }
    let page = stage.get("/v1/batches?limit=2").await.expect_ok();
    assert_eq!(page["data"][0]["id"], ids[2]);
    assert_eq!(page["first_id"], ids[2]);
    assert_eq!(page["last_id"], ids[1]);
    assert_eq!(page["has_more"], true);
    let rest = stage
        .get(&format!("/v1/batches?limit=2&after={}", ids[1]))
        .await
        .expect_ok();
    assert_eq!(rest["data"][0]["id"], ids[0]);
    assert_eq!(rest["has_more"], false);
    assert_eq!(stage.get("/v1/batches?limit=101").await.status, 400);
    let files = stage.get("/v1/files?purpose=batch").await.expect_ok();
    assert_eq!(files["data"].as_array().unwrap().len(), 3);
    let file = files["data"][0]["id"].as_str().unwrap();
    let gone = stage.delete(&format!("/v1/files/{file}")).await.expect_ok();
    assert_eq!(gone, json!({"id": file, "object": "file", "deleted": true}));
    assert_eq!(stage.get(&format!("/v1/files/{file}")).await.status, 404);
}

#[tokio::test]
async fn accounts_do_not_see_each_other() {
    let mut stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let id = stage.create_batch(&["x"]).await;
    stage.key = "sk-other".to_owned();
    assert_eq!(stage.get(&format!("/v1/batches/{id}")).await.status, 404);
    assert_eq!(
        stage.get("/v1/batches").await.expect_ok()["data"],
        json!([])
    );
    stage.key = String::new();
    assert_eq!(stage.get("/v1/batches").await.status, 401);
}

#[tokio::test]
async fn embeddings_are_batched_and_answered_at_once() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let body = json!({"model": "embed", "input": ["one", "two"]});
    let line = json!({"custom_id": "e", "method": "POST", "url": "/v1/embeddings", "body": body});
    let file = stage.upload(line.to_string()).await.expect_ok();
    let create = json!({"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"});
    let id = stage.post("/v1/batches", &create).await.expect_ok()["id"].clone();
    stage.finish_jobs();
    let done = stage.get_batch(id.as_str().unwrap()).await;
    let batched =
        stage.get_content(&done["output_file_id"]).await.lines()[0]["response"]["body"].clone();
    let at_once = stage.post("/v1/embeddings", &body).await.expect_ok();
    assert_eq!(batched, at_once);
    assert_eq!(
        at_once["data"][1]["embedding"],
        json!(rule::embedding("two", 8))
    );
    assert_eq!(
        at_once["usage"],
        json!({"prompt_tokens": 2, "total_tokens": 2})
    );
    let encoded = json!({"model": "embed", "input": "one", "encoding_format": "base64"});
    assert!(
        stage.post("/v1/embeddings", &encoded).await.expect_ok()["data"][0]["embedding"]
            .is_string()
    );
}
