//! Input files of projects that chose fewer days, or zero retention.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::retention::ProjectRetention;
use serde_json::{Value, json};

use super::{
    CHAT, call, call_with, content, create, field, file_part, find, finish_all, id_of, line,
    lines_of, upload,
};
use crate::support::http::AppResponse;
use crate::support::marker::{MARKER, execute, find_marker};
use crate::support::{Customer, TestService};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
const DAY_SECONDS: i64 = 86_400;

async fn upload_line(service: &TestService, customer: &Customer) -> AppResponse {
    let text = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&text)];
    upload(service, customer, &parts).await
}

/// How many seconds after its upload a file expires, as its object says.
async fn lifetime(service: &TestService, customer: &Customer, id: &str) -> i64 {
    let file = call(service, customer, "GET", &format!("/files/{id}")).await;
    let at = |name: &str| file.body[name].as_i64().unwrap();
    at("expires_at") - at("created_at")
}

async fn status_of(service: &TestService, customer: &Customer, id: &str) -> u16 {
    content(service, customer, id).await.0
}

#[tokio::test]
async fn under_zero_retention_a_batch_leaves_no_text() {
    let mut service = TestService::without_encryption().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Zero)
        .await;
    let mut prompt = line("a", "svc-mock");
    prompt["body"]["messages"][0]["content"] = json!(MARKER);
    let text = prompt.to_string();
    let parts = [field("purpose", "batch"), file_part(&text)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let body = json!({
        "input_file_id": file, "endpoint": CHAT, "completion_window": "24h",
        "metadata": {"run": MARKER},
    });
    let key = [("idempotency-key", MARKER)];
    let created = call_with(&service, &customer, "POST", "/batches", &body, &key).await;
    let batch = id_of(&created);
    // The batch has not loaded it yet.
    assert_eq!(content(&service, &customer, &file).await, (200, text));
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &batch).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["metadata"], json!({"run": MARKER}));
    assert_eq!(status_of(&service, &customer, &file).await, 404);
    service.sweep_after(MINUTE).await;
    assert_eq!(service.count_parcel_blocks().await, 0);
    // The answers stay for a day, as those of cargo without a callback.
    let output = &ended["output_file_id"];
    service.sweep_after(23 * HOUR).await;
    let answered = lines_of(&service, &customer, output).await;
    assert_eq!(answered[0]["response"]["status_code"], 200);
    service.sweep_after(HOUR).await;
    let erased = lines_of(&service, &customer, output).await;
    assert_eq!(erased[0]["error"]["code"], "answer_erased");
    let stored = find_marker(&service.north.pool).await;
    assert!(stored.contains("shard.dropin_batch.options"), "{stored:?}");
    // What the batch set for all lines stays until each of them is erased.
    service.sweep_after(24 * HOUR).await;
    let stored = find_marker(&service.north.pool).await;
    assert_eq!(stored, BTreeSet::new());
    let forgotten = find(&service, &customer, &batch).await;
    assert_eq!(forgotten["status"], "completed", "{forgotten}");
    assert_eq!(forgotten["metadata"], Value::Null);
    assert_eq!(forgotten["request_counts"], ended["request_counts"]);
}

#[tokio::test]
async fn under_zero_retention_a_file_that_no_batch_has_loaded_is_kept_for_a_day() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Zero)
        .await;
    let parts = [field("purpose", "batch"), file_part("{}")];
    let file = id_of(&upload(&service, &customer, &parts).await);
    assert_eq!(lifetime(&service, &customer, &file).await, DAY_SECONDS);
    let body = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"});
    let batch = id_of(&call_with(&service, &customer, "POST", "/batches", &body, &[]).await);
    let failed = find(&service, &customer, &batch).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    service.sweep_after(23 * HOUR).await;
    assert_eq!(status_of(&service, &customer, &file).await, 200);
    service.sweep_after(HOUR).await;
    assert_eq!(status_of(&service, &customer, &file).await, 404);
    assert_eq!(service.count_parcel_blocks().await, 0);
    // Why it failed may quote the file.
    let reasons = &find(&service, &customer, &batch).await["errors"];
    assert!(!reasons["data"][0]["message"].is_null(), "{reasons}");
    service.sweep_after(24 * HOUR + MINUTE).await;
    let reasons = &find(&service, &customer, &batch).await["errors"];
    assert_eq!(*reasons, Value::Null);
}

#[tokio::test]
async fn a_file_is_kept_for_the_days_of_its_project_at_most() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Days(2))
        .await;
    let text = line("a", "svc-mock").to_string();
    for (asked, kept) in [("2592000", 2 * DAY_SECONDS), ("3600", 3_600)] {
        let parts = [
            field("purpose", "batch"),
            field("expires_after[anchor]", "created_at"),
            field("expires_after[seconds]", asked),
            file_part(&text),
        ];
        let file = id_of(&upload(&service, &customer, &parts).await);
        assert_eq!(lifetime(&service, &customer, &file).await, kept);
    }
    let stored = upload_line(&service, &customer).await;
    let (created, expires) = (&stored.body["created_at"], &stored.body["expires_at"]);
    let two_days_later = created.as_i64().map(|at| at + 2 * DAY_SECONDS);
    assert_eq!(expires.as_i64(), two_days_later);
    let file = id_of(&stored);
    service.sweep_after(47 * HOUR).await;
    assert_eq!(status_of(&service, &customer, &file).await, 200);
    service.sweep_after(HOUR).await;
    assert_eq!(status_of(&service, &customer, &file).await, 404);
    assert_eq!(service.count_parcel_blocks().await, 0);
}

#[tokio::test]
async fn a_new_retention_holds_for_the_files_that_are_stored() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let created = create(&service, &customer, &[line("a", "svc-mock")]).await;
    let loaded = created.body["input_file_id"].as_str().unwrap().to_owned();
    finish_all(&mut service).await;
    assert_eq!(status_of(&service, &customer, &loaded).await, 200);
    let unused = id_of(&upload_line(&service, &customer).await);
    let other = id_of(&upload_line(&service, &sibling).await);
    service
        .choose_retention(&customer, ProjectRetention::Days(3))
        .await;
    for file in [&loaded, &unused] {
        assert_eq!(lifetime(&service, &customer, file).await, 3 * DAY_SECONDS);
    }
    service
        .choose_retention(&customer, ProjectRetention::Zero)
        .await;
    assert_eq!(status_of(&service, &customer, &loaded).await, 404);
    assert_eq!(lifetime(&service, &customer, &unused).await, DAY_SECONDS);
    service.sweep_after(MINUTE).await;
    assert_eq!(service.count_parcel_blocks().await, 2);
    assert_eq!(lifetime(&service, &sibling, &other).await, 30 * DAY_SECONDS);
}

#[tokio::test]
async fn a_file_that_missed_a_new_retention_is_found_by_sweep() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Days(1))
        .await;
    let file = id_of(&upload_line(&service, &customer).await);
    // The upload read the retention before it was changed.
    let missed = "update shard.parcel set expires_at = created_at + interval '30 days'";
    execute(&service.north.pool, missed.to_owned()).await;
    assert_eq!(lifetime(&service, &customer, &file).await, 30 * DAY_SECONDS);
    service.sweep_after(10 * MINUTE).await;
    assert_eq!(lifetime(&service, &customer, &file).await, DAY_SECONDS);
}

#[tokio::test]
async fn no_file_outlives_the_retention_of_the_installation() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let file = id_of(&upload_line(&service, &customer).await);
    // An operator has shortened the retention: its file was to live longer.
    let longer = "update shard.parcel set expires_at = created_at + interval '60 days'";
    execute(&service.north.pool, longer.to_owned()).await;
    service.sweep_after(29 * 24 * HOUR).await;
    assert_eq!(status_of(&service, &customer, &file).await, 200);
    service.sweep_after(24 * HOUR + MINUTE).await;
    assert_eq!(status_of(&service, &customer, &file).await, 404);
    assert_eq!(service.count_parcel_blocks().await, 0);
}
