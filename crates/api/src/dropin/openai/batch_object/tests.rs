//! Statuses, times and counts of a batch.

use chrono::TimeDelta;
use domain::cargo_group::{GroupCounts, GroupTimes};
use domain::dropin::Facade;
use domain::id::{ApiKeyId, Berth, GroupId, OrganizationId, ParcelId, ProjectId};
use domain::time::Timestamp;
use serde_json::json;
use store::shard::dropin::DropinBatch;

use super::{BatchStatus, write_batch};

fn moment(seconds: i64) -> Timestamp {
    Timestamp::default() + TimeDelta::seconds(seconds)
}

/// A batch of three items at its creation.
fn new_batch() -> DropinBatch {
    let (now, berth) = (moment(1), Berth::new(0).unwrap());
    let options = json!({
        "endpoint": "/v1/embeddings", "completion_window": "24h", "metadata": {"run": "7"},
    });
    DropinBatch {
        group: GroupId::new(now, berth, 1),
        organization: OrganizationId::new(now, berth, 2),
        project: ProjectId::new(now, berth, 3),
        key: ApiKeyId::new(now, berth, 4),
        facade: Facade::OpenAi,
        parcel: ParcelId::new(now, berth, 5),
        expires_at: moment(86_401),
        items: 3,
        options: Some(options.to_string().into_bytes()),
        unpacked: 0,
        unpacked_at: None,
        stalled_at: None,
        failure: None,
        failed_at: None,
        archived_at: None,
        times: GroupTimes {
            created_at: now,
            sealed_at: None,
            cancel_requested_at: None,
            completed_at: None,
        },
        counts: GroupCounts::default(),
        expired: 0,
    }
}

fn running() -> DropinBatch {
    let mut batch = new_batch();
    batch.unpacked = 3;
    batch.unpacked_at = Some(moment(5));
    batch.times.sealed_at = Some(moment(5));
    batch.counts.total = 3;
    batch
}

fn ended(succeeded: u64, failed: u64, cancelled: u64) -> DropinBatch {
    let mut batch = running();
    batch.times.completed_at = Some(moment(9));
    batch.counts.succeeded = succeeded;
    batch.counts.failed = failed;
    batch.counts.cancelled = cancelled;
    batch
}

#[test]
fn a_batch_that_is_being_unpacked_is_validating() {
    let object = write_batch(&new_batch());
    assert_eq!(object["status"], "validating");
    assert_eq!(object["endpoint"], "/v1/embeddings");
    assert_eq!(object["metadata"], json!({"run": "7"}));
    let counts = json!({"total": 3, "completed": 0, "failed": 0});
    assert_eq!(object["request_counts"], counts);
    for unset in [
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
        "model",
    ] {
        assert_eq!(object.get(unset), Some(&json!(null)), "{unset}");
    }
}

#[test]
fn files_exist_when_the_batch_has_ended() {
    let mut batch = running();
    batch.counts.succeeded = 2;
    let object = write_batch(&batch);
    assert_eq!(
        (&object["status"], &object["in_progress_at"]),
        (&json!("in_progress"), &json!(5))
    );
    assert_eq!(object["output_file_id"], json!(null));
    batch.counts.failed = 1;
    assert_eq!(BatchStatus::of(&batch), BatchStatus::Finalizing);
    let object = write_batch(&ended(2, 1, 0));
    assert_eq!(
        (&object["status"], &object["completed_at"]),
        (&json!("completed"), &json!(9))
    );
    let ends = |name: &str, end: &str| object[name].as_str().is_some_and(|id| id.ends_with(end));
    assert!(ends("output_file_id", "-out") && ends("error_file_id", "-err"));
    assert_eq!(
        object["request_counts"],
        json!({"total": 3, "completed": 2, "failed": 1})
    );
    let object = write_batch(&ended(0, 3, 0));
    assert_eq!(object["output_file_id"], json!(null));
    let object = write_batch(&ended(3, 0, 0));
    assert_eq!(object["error_file_id"], json!(null));
}

#[test]
fn expired_and_cancelled_batches() {
    let mut batch = ended(2, 1, 0);
    batch.expired = 1;
    let object = write_batch(&batch);
    assert_eq!(
        (&object["status"], &object["expired_at"]),
        (&json!("expired"), &json!(9))
    );
    assert_eq!(object["completed_at"], json!(null));
    let mut batch = running();
    batch.times.cancel_requested_at = Some(moment(7));
    let object = write_batch(&batch);
    assert_eq!(
        (&object["status"], &object["cancelling_at"]),
        (&json!("cancelling"), &json!(7))
    );
    let mut batch = ended(1, 0, 2);
    batch.times.cancel_requested_at = Some(moment(7));
    let object = write_batch(&batch);
    assert_eq!(
        (&object["status"], &object["cancelled_at"]),
        (&json!("cancelled"), &json!(9))
    );
    assert!(BatchStatus::of(&batch).is_terminal());
    assert!(object["error_file_id"].is_string());
}

#[test]
fn a_failed_batch_lists_its_errors() {
    let mut batch = new_batch();
    batch.items = 0;
    batch.unpacked_at = Some(moment(2));
    batch.failed_at = Some(moment(2));
    let error = json!({
        "code": "invalid_url", "line": 2, "message": "No.", "param": "url",
    });
    batch.failure = Some(json!([error]).to_string().into_bytes());
    let object = write_batch(&batch);
    assert_eq!(
        (&object["status"], &object["failed_at"]),
        (&json!("failed"), &json!(2))
    );
    assert_eq!(object["errors"], json!({"object": "list", "data": [error]}));
    assert_eq!(object["output_file_id"], json!(null));
}
