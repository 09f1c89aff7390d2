//! Gemini's batches without faults.

use serde_json::{Value, json};
use simulator::{SimulatedPace, SimulatedProvider, rule};

use crate::support::TestSimulator;

pub fn content(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}]})
}

pub fn line(key: &str, text: &str) -> String {
    json!({"key": key, "request": content(text)}).to_string()
}

impl TestSimulator {
    /// Uploads in two pieces and returns the file.
    pub async fn upload_resumable(&self, bytes: &str) -> Value {
        let start = [
            ("x-goog-upload-protocol", "resumable"),
            ("x-goog-upload-command", "start"),
            ("x-goog-upload-header-content-type", "application/jsonl"),
        ];
        let body = json!({"file": {"displayName": "in"}}).to_string();
        let started = self.send("POST", "/upload/v1beta/files", &start, body);
        let started = started.await.unwrap();
        let url = started.header("x-goog-upload-url").unwrap().to_owned();
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let headers = [
            ("x-goog-upload-command", "upload"),
            ("x-goog-upload-offset", "0"),
        ];
        let piece = self
            .send("POST", &url, &headers, first.to_owned())
            .await
            .unwrap();
        assert_eq!(piece.header("x-goog-upload-status"), Some("active"));
        let offset = first.len().to_string();
        let headers = [
            ("x-goog-upload-command", "upload, finalize"),
            ("x-goog-upload-offset", &offset),
        ];
        let last = self
            .send("POST", &url, &headers, second.to_owned())
            .await
            .unwrap();
        assert_eq!(last.header("x-goog-upload-status"), Some("final"));
        last.expect_ok()["file"].clone()
    }

    pub async fn create_from_file(&self, lines: &[String]) -> String {
        let file = self.upload_resumable(&lines.join("\n")).await;
        let body =
            json!({"batch": {"displayName": "sub-1", "inputConfig": {"fileName": file["name"]}}});
        let created = self
            .post("/v1beta/models/gemini-sim:batchGenerateContent", &body)
            .await
            .expect_ok();
        created["name"].as_str().unwrap().to_owned()
    }

    pub async fn create_inline(&self, texts: &[&str]) -> String {
        let requests: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| json!({"request": content(text), "metadata": {"key": format!("k{index}")}}))
            .collect();
        let body = json!({"batch": {"display_name": "sub-2", "input_config": {"requests": {"requests": requests}}}});
        let created = self
            .post("/v1beta/models/gemini-sim:batchGenerateContent", &body)
            .await
            .expect_ok();
        created["name"].as_str().unwrap().to_owned()
    }

    pub async fn get_operation(&self, name: &str) -> Value {
        self.get(&format!("/v1beta/{name}")).await.expect_ok()
    }
}

#[tokio::test]
async fn a_file_is_answered_with_a_file() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let name = stage
        .create_from_file(&[line("k0", "hello"), line("k1", "[[fail 400]]")])
        .await;
    let pending = stage.get_operation(&name).await;
    assert_eq!(pending["metadata"]["state"], "BATCH_STATE_PENDING");
    assert_eq!(pending["metadata"]["displayName"], "sub-1");
    assert_eq!(pending["metadata"]["model"], "models/gemini-sim");
    let stats = json!({"requestCount": "2", "pendingRequestCount": "2"});
    assert_eq!(pending["metadata"]["batchStats"], stats);
    assert_eq!(pending.get("done"), None);
    stage.advance_ms(100);
    assert_eq!(
        stage.get_operation(&name).await["metadata"]["state"],
        "BATCH_STATE_RUNNING"
    );
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    assert_eq!(done["metadata"]["state"], "BATCH_STATE_SUCCEEDED");
    assert_eq!(done["done"], true);
    let stats =
        json!({"requestCount": "2", "successfulRequestCount": "1", "failedRequestCount": "1"});
    assert_eq!(done["metadata"]["batchStats"], stats);
    let file = done["response"]["responsesFile"].as_str().unwrap();
    assert_eq!(done["metadata"]["output"]["responsesFile"], file);
    let lines = stage
        .get(&format!("/download/v1beta/{file}:download?alt=media"))
        .await
        .lines();
    assert_eq!(lines[0]["key"], "k0");
    let response = &lines[0]["response"];
    assert_eq!(
        response["candidates"][0]["content"]["parts"][0]["text"],
        rule::chat_text("hello")
    );
    assert_eq!(response["candidates"][0]["finishReason"], "STOP");
    let usage = json!({"promptTokenCount": 2, "candidatesTokenCount": 2, "totalTokenCount": 4});
    assert_eq!(response["usageMetadata"], usage);
    assert_eq!(lines[1]["error"]["code"], 3);
    assert_eq!(stage.get(&format!("/v1beta/{file}")).await.status, 400);
}

#[tokio::test]
async fn requests_in_the_call_are_answered_in_the_operation() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let name = stage.create_inline(&["one", "two"]).await;
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    let responses = done["response"]["inlinedResponses"]["inlinedResponses"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(responses.len(), 2);
    assert_eq!(responses[1]["metadata"]["key"], "k1");
    let text = &responses[1]["response"]["candidates"][0]["content"]["parts"][0]["text"];
    assert_eq!(text, &rule::chat_text("two"));
    assert_eq!(
        done["metadata"]["output"]["inlinedResponses"]["inlinedResponses"],
        json!(responses)
    );
}

#[tokio::test]
async fn embeddings_have_an_operation_of_their_own() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let request =
        json!({"request": {"content": {"parts": [{"text": "one"}]}}, "metadata": {"key": "k"}});
    let body = json!({"batch": {"inputConfig": {"requests": {"requests": [request]}}}});
    let created = stage
        .post("/v1beta/models/embed:asyncBatchEmbedContent", &body)
        .await
        .expect_ok();
    stage.finish_jobs();
    let done = stage.get_operation(created["name"].as_str().unwrap()).await;
    let item = &done["response"]["inlinedEmbedContentResponses"]["inlinedResponses"][0];
    assert_eq!(
        item["response"]["embedding"]["values"],
        json!(rule::embedding("one", 8))
    );
    assert_eq!(item["response"]["tokenCount"], "1");
}

#[tokio::test]
async fn batches_are_listed_cancelled_and_deleted() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    assert_eq!(stage.get("/v1beta/batches").await.expect_ok(), json!({}));
    stage.set_pace(SimulatedPace {
        running_ms: 60_000,
        ..SimulatedPace::default()
    });
    let first = stage.create_inline(&["one"]).await;
    let second = stage.create_inline(&["one"]).await;
    let page = stage.get("/v1beta/batches?pageSize=1").await.expect_ok();
    assert_eq!(page["operations"][0]["name"], second);
    let token = page["nextPageToken"].as_str().unwrap();
    let next = stage
        .get(&format!("/v1beta/batches?pageSize=1&pageToken={token}"))
        .await
        .expect_ok();
    assert_eq!(next["operations"][0]["name"], first);
    assert_eq!(next.get("nextPageToken"), None);
    assert_eq!(
        stage
            .post(&format!("/v1beta/{first}:cancel"), &json!({}))
            .await
            .expect_ok(),
        json!({})
    );
    stage.finish_jobs();
    let cancelled = stage.get_operation(&first).await;
    assert_eq!(cancelled["metadata"]["state"], "BATCH_STATE_CANCELLED");
    assert_eq!(cancelled.get("response"), None);
    assert_eq!(
        stage.delete(&format!("/v1beta/{first}")).await.expect_ok(),
        json!({})
    );
    assert_eq!(stage.get(&format!("/v1beta/{first}")).await.status, 404);
}

#[tokio::test]
async fn uploaded_files_are_shown_and_die_after_48_hours() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let file = stage.upload_resumable("hello world").await;
    assert_eq!(
        (&file["sizeBytes"], &file["state"]),
        (&json!("11"), &json!("ACTIVE"))
    );
    let name = file["name"].as_str().unwrap();
    assert_eq!(
        stage.get(&format!("/v1beta/{name}")).await.expect_ok(),
        file
    );
    assert_eq!(
        stage
            .get(&format!("/v1beta/{name}:download?alt=media"))
            .await
            .status,
        400
    );
    stage.advance_ms(48 * 3_600_000);
    assert_eq!(stage.get(&format!("/v1beta/{name}")).await.status, 404);
}

#[tokio::test]
async fn content_is_answered_at_once_too() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let mut request = content("one two three");
    request["generationConfig"] = json!({"maxOutputTokens": 2});
    let response = stage
        .post("/v1beta/models/gemini-sim:generateContent", &request)
        .await
        .expect_ok();
    assert_eq!(response["candidates"][0]["finishReason"], "MAX_TOKENS");
    assert_eq!(response["modelVersion"], "gemini-sim");
}
