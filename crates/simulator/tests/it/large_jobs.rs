//! The largest jobs that the providers accept.

use serde_json::{Value, json};
use simulator::{SimulatedProvider, rule};

use crate::anthropic::request;
use crate::support::{TestSimulator, openai_line};

#[tokio::test]
async fn fifty_thousand_lines_are_answered_each_with_its_own() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let lines: Vec<String> = (0..50_000)
        .map(|index| openai_line(&format!("a{index}"), &format!("text {index}")))
        .collect();
    let created = stage.try_create_batch(&lines).await.unwrap().expect_ok();
    stage.finish_jobs();
    let done = stage.get_batch(created["id"].as_str().unwrap()).await;
    assert_eq!(
        done["request_counts"],
        json!({"total": 50_000, "completed": 50_000, "failed": 0})
    );
    let output = stage.get_content(&done["output_file_id"]).await;
    let mut seen = 0;
    for (index, line) in output.text().lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["custom_id"], format!("a{index}"));
        let text = &line["response"]["body"]["choices"][0]["message"]["content"];
        assert_eq!(text, &rule::chat_text(&format!("text {index}")));
        seen += 1;
    }
    assert_eq!(seen, 50_000);
}

#[tokio::test]
async fn a_file_of_nearly_200_megabytes_is_taken() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let text = "word ".repeat(200_000);
    let lines: Vec<String> = (0..199)
        .map(|index| openai_line(&format!("a{index}"), &text))
        .collect();
    let created = stage.try_create_batch(&lines).await.unwrap().expect_ok();
    stage.finish_jobs();
    let done = stage.get_batch(created["id"].as_str().unwrap()).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(done["usage"]["input_tokens"], 199 * 250_000);
    assert_eq!(
        stage
            .get_content(&done["output_file_id"])
            .await
            .lines()
            .len(),
        199
    );
}

#[tokio::test]
async fn a_hundred_thousand_messages_are_one_batch() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let requests: Vec<Value> = (0..100_000)
        .map(|index| request(&format!("a{index}"), "x"))
        .collect();
    let created = stage
        .post("/v1/messages/batches", &json!({"requests": requests}))
        .await
        .expect_ok();
    assert_eq!(created["request_counts"]["processing"], 100_000);
    stage.finish_jobs();
    let results = stage
        .get(&format!(
            "/v1/messages/batches/{}/results",
            created["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(results.text().lines().count(), 100_000);
}
