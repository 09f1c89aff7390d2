//! Gemini's batches and files with faults.

use std::time::Duration;

use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use crate::gemini::line;
use crate::support::TestSimulator;

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::Gemini).await
}

#[tokio::test]
async fn a_stuck_job_stays_pending_and_expires_without_output() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::Stuck));
    let name = stage.create_inline(&["a"]).await;
    stage.simulator.advance(Duration::from_hours(47));
    assert_eq!(
        stage.get_operation(&name).await["metadata"]["state"],
        "BATCH_STATE_PENDING"
    );
    stage.simulator.advance(Duration::from_hours(1));
    let expired = stage.get_operation(&name).await;
    assert_eq!(expired["metadata"]["state"], "BATCH_STATE_EXPIRED");
    assert_eq!(expired["done"], true);
    assert_eq!(
        (expired.get("response"), expired["metadata"].get("output")),
        (None, None)
    );
}

#[tokio::test]
async fn a_file_can_be_answered_inline() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::InlineAnswer));
    let name = stage.create_from_file(&[line("k0", "a")]).await;
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    assert_eq!(done["response"].get("responsesFile"), None);
    let item = &done["response"]["inlinedResponses"]["inlinedResponses"][0];
    assert_eq!(item["metadata"]["key"], "k0");
}

#[tokio::test]
async fn metadata_can_be_missing_and_order_lost() {
    let stage = start().await;
    stage.set_faults(vec![
        SimulatedFault::new(FaultName::MetadataMissing),
        SimulatedFault::new(FaultName::Shuffle),
    ]);
    let name = stage.create_inline(&["a", "b", "c", "d", "e"]).await;
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    let items = done["response"]["inlinedResponses"]["inlinedResponses"]
        .as_array()
        .unwrap();
    assert!(items.iter().all(|item| item.get("metadata").is_none()));
    let texts: Vec<&str> = items
        .iter()
        .map(|it| {
            it["response"]["candidates"][0]["content"]["parts"][0]["text"]
                .as_str()
                .unwrap()
        })
        .map(|text| text.split(' ').next_back().unwrap())
        .collect();
    assert_ne!(texts, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_failed_line_can_say_status_instead_of_error() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::StatusInsteadOfError));
    let name = stage.create_from_file(&[line("k0", "[[fail 503]]")]).await;
    stage.finish_jobs();
    let file = stage.get_operation(&name).await["response"]["responsesFile"].clone();
    let path = format!("/download/v1beta/{}:download", file.as_str().unwrap());
    let lines = stage.get(&path).await.lines();
    assert_eq!(
        (lines[0]["status"]["code"].clone(), lines[0].get("error")),
        (json!(14), None)
    );
    stage.set_fault(SimulatedFault::once(FaultName::TruncateDownload));
    stage
        .send("GET", &path, &[], "")
        .await
        .err()
        .expect("a cut answer");
}

#[tokio::test]
async fn a_blocked_prompt_has_no_candidates() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::SafetyBlock));
    let name = stage.create_inline(&["a"]).await;
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    let response = &done["response"]["inlinedResponses"]["inlinedResponses"][0]["response"];
    assert_eq!(response.get("candidates"), None);
    assert_eq!(response["promptFeedback"]["blockReason"], "SAFETY");
}

#[tokio::test]
async fn refusals_say_in_the_body_when_to_come_again() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Create429).seconds(34));
    let request = json!({"request": crate::gemini::content("x")});
    let body = json!({"batch": {"inputConfig": {"requests": {"requests": [request]}}}});
    let refused = stage
        .post("/v1beta/models/m:batchGenerateContent", &body)
        .await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), None);
    let error = refused.json()["error"].clone();
    assert_eq!(error["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(error["details"][0]["retryDelay"], "34s");
    stage.set_fault(SimulatedFault::once(FaultName::Create503));
    let refused = stage
        .post("/v1beta/models/m:batchGenerateContent", &body)
        .await;
    assert_eq!(refused.json()["error"]["status"], "UNAVAILABLE");
    let mut fault = SimulatedFault::new(FaultName::EnqueuedLimit);
    fault.limit = Some(0);
    stage.set_fault(fault);
    assert_eq!(
        stage
            .post("/v1beta/models/m:batchGenerateContent", &body)
            .await
            .status,
        429
    );
}

#[tokio::test]
async fn a_file_is_processed_before_it_can_be_used() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::FileProcessing).seconds(5));
    let file = stage.upload_resumable(&line("k", "x")).await;
    assert_eq!(file["state"], "PROCESSING");
    let body = json!({"batch": {"inputConfig": {"fileName": file["name"]}}});
    let early = stage
        .post("/v1beta/models/m:batchGenerateContent", &body)
        .await;
    assert_eq!(early.json()["error"]["status"], "FAILED_PRECONDITION");
    stage.simulator.advance(Duration::from_secs(5));
    assert_eq!(
        stage
            .post("/v1beta/models/m:batchGenerateContent", &body)
            .await
            .status,
        200
    );
    stage.set_fault(SimulatedFault::once(FaultName::FileFailed));
    let failed = stage.upload_resumable(&line("k", "x")).await;
    assert_eq!(failed["state"], "FAILED");
    assert!(failed["error"]["message"].is_string());
}

#[tokio::test]
async fn a_file_with_a_broken_line_fails_as_a_whole() {
    let stage = start().await;
    let name = stage
        .create_from_file(&[line("k", "x"), "{oops".to_owned()])
        .await;
    stage.finish_jobs();
    let failed = stage.get_operation(&name).await;
    assert_eq!(failed["metadata"]["state"], "BATCH_STATE_FAILED");
    assert_eq!(failed["error"]["code"], 3);
    let missing: Value = json!({"batch": {"inputConfig": {"fileName": "files/nowhere"}}});
    assert_eq!(
        stage
            .post("/v1beta/models/m:batchGenerateContent", &missing)
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_result_file_can_be_gone_or_fail_to_load() {
    let stage = start().await;
    let name = stage.create_from_file(&[line("k", "x")]).await;
    stage.finish_jobs();
    let file = stage.get_operation(&name).await["response"]["responsesFile"].clone();
    let path = format!("/download/v1beta/{}:download", file.as_str().unwrap());
    stage.set_faults(vec![
        SimulatedFault::once(FaultName::ResultsGone),
        SimulatedFault::once(FaultName::Download500),
    ]);
    assert_eq!(stage.get(&path).await.status, 500);
    assert_eq!(stage.get(&path).await.status, 404);
    assert_eq!(stage.get(&path).await.lines().len(), 1);
}

#[tokio::test]
async fn a_piece_at_the_wrong_place_is_refused() {
    let stage = start().await;
    let start = [("x-goog-upload-command", "start")];
    let started = stage
        .send("POST", "/upload/v1beta/files", &start, "{}")
        .await
        .unwrap();
    let url = started.header("x-goog-upload-url").unwrap().to_owned();
    let piece = [
        ("x-goog-upload-command", "upload"),
        ("x-goog-upload-offset", "7"),
    ];
    assert_eq!(
        stage.send("POST", &url, &piece, "x").await.unwrap().status,
        400
    );
    let query = [("x-goog-upload-command", "query")];
    let status = stage.send("POST", &url, &query, "").await.unwrap();
    assert_eq!(status.header("x-goog-upload-size-received"), Some("0"));
}
