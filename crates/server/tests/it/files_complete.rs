//! Complete, content and deletion: what callers see of a file's verdict.

use std::time::Duration;

use domain::file::MediaType;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use test_support::object_store::send;
use test_support::sample_files;

use crate::support::TestService;
use crate::support::files::{TestFileBackends, post_upload, put_part, put_parts, upload};
use crate::support::test_limits::TestLimits;

const MB: usize = 1 << 20;

fn file_id(session: &Value) -> String {
    session["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_good_file_is_ready_and_can_be_downloaded() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::valid_file(MediaType::Pdf);
    let session = service
        .create_upload_session(&customer, &bytes, "application/pdf")
        .await;
    upload(&session["upload"], &bytes).await;
    let answer = service
        .complete_upload(&customer, &file_id(&session), &json!({}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        (&answer.body["status"], &answer.body["scan_status"]),
        (&json!("ready"), &json!("clean"))
    );
    assert_eq!(answer.body["expires_at"], "2026-01-31T00:00:00.000000Z");
    assert_eq!(
        service.get_file(&customer, &file_id(&session)).await,
        answer.body
    );

    let path = format!("/files/{}/content", file_id(&session));
    let content = service.get(&customer, &path).await;
    assert_eq!(content.status, 200);
    let link = content.body["download_url"].as_str().unwrap();
    let download = send("GET", link, &[], b"").await;
    assert_eq!((download.status, download.body == bytes), (200, true));
    let disposition = download.header("content-disposition").unwrap();
    assert!(disposition.starts_with("attachment"), "{disposition}");
    let shown = |field: &str| content.body[field].clone();
    assert_eq!(shown("id"), session["id"]);
    assert_eq!(
        (shown("filename"), shown("size_bytes")),
        (json!("sample.bin"), json!(bytes.len()))
    );
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&session), &json!({})).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file's status is ready. Only a file with status uploading can be completed.",
      "detail": {
        "error": "invalid_state",
        "message": "The file's status is ready. Only a file with status uploading can be completed."
      }
    }
    "#);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn parts_become_one_file() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(17 * MB);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    let id = file_id(&session);
    let listed = put_parts(&session["upload"], &bytes).await;
    // A list with a gap leaves the session open.
    let gap = json!({"parts": [listed["parts"][1]]});
    insta::assert_snapshot!(service.complete_upload(&customer, &id, &gap).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "parts should list all 2 parts; missing: 1.",
      "detail": {
        "error": "invalid_request",
        "message": "parts should list all 2 parts; missing: 1."
      }
    }
    "#);
    assert_eq!(
        service.get_file(&customer, &id).await["status"],
        "uploading"
    );
    let answer = service.complete_upload(&customer, &id, &listed).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["size_bytes"], 17 * MB);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_part_of_other_bytes_fails_the_file() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let session = service
        .create_upload_session(&customer, &sample_files::text(9 * MB), "text/plain")
        .await;
    let part = &session["upload"]["parts"][0];
    let (checksum, sent) = put_part(&session["upload"], part, &sample_files::text(9 * MB)).await;
    let etag = sent.header("etag").unwrap();
    let parts = json!({"parts": [{"part_number": 1, "etag": etag, "checksum_sha256": checksum}]});
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&session), &parts).await, @r#"
    422 {
      "error": "checksum_mismatch",
      "message": "The uploaded bytes do not have the declared SHA-256. Create a new file and upload exactly the bytes that were hashed.",
      "detail": {
        "error": "checksum_mismatch",
        "message": "The uploaded bytes do not have the declared SHA-256. Create a new file and upload exactly the bytes that were hashed."
      }
    }
    "#);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn complete_answers_why_a_file_failed() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let missing = service
        .create_upload_session(&customer, b"never sent", "text/plain")
        .await;
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&missing), &json!({})).await, @r#"
    422 {
      "error": "upload_missing",
      "message": "The upload is missing or incomplete. Create a new file, upload all of it and then complete it.",
      "detail": {
        "error": "upload_missing",
        "message": "The upload is missing or incomplete. Create a new file, upload all of it and then complete it."
      }
    }
    "#);

    let png = sample_files::valid_file(MediaType::Png);
    let mistaken = service
        .create_upload_session(&customer, &png, "image/jpeg")
        .await;
    upload(&mistaken["upload"], &png).await;
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&mistaken), &json!({})).await, @r#"
    422 {
      "error": "magic_byte_mismatch",
      "message": "The uploaded bytes are not of the declared media type. Create a new file with the right media type.",
      "detail": {
        "error": "magic_byte_mismatch",
        "message": "The uploaded bytes are not of the declared media type. Create a new file with the right media type."
      }
    }
    "#);
    // The status failed is final.
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&mistaken), &json!({})).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file's status is failed. Only a file with status uploading can be completed.",
      "detail": {
        "error": "invalid_state",
        "message": "The file's status is failed. Only a file with status uploading can be completed."
      }
    }
    "#);
    let content = format!("/files/{}/content", file_id(&mistaken));
    insta::assert_snapshot!(service.get(&customer, &content).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file's status is failed. Only a file with status ready can be downloaded.",
      "detail": {
        "error": "invalid_state",
        "message": "The file's status is failed. Only a file with status ready can be downloaded."
      }
    }
    "#);

    let infected = service
        .create_upload_session(&customer, &sample_files::eicar(), "text/plain")
        .await;
    upload(&infected["upload"], &sample_files::eicar()).await;
    insta::assert_snapshot!(service.complete_upload(&customer, &file_id(&infected), &json!({})).await, @r#"
    422 {
      "error": "malware_detected",
      "message": "The malware scanner detected malware in this file.",
      "detail": {
        "error": "malware_detected",
        "message": "The malware scanner detected malware in this file."
      }
    }
    "#);
    let record = service.get_file(&customer, &file_id(&infected)).await;
    let shown = |field: &str| record[field].as_str().unwrap().to_owned();
    let shown = [
        shown("status"),
        shown("failure_reason"),
        shown("scan_status"),
    ];
    assert_eq!(shown, ["failed", "malware_detected", "infected"]);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_verdict_that_takes_longer_is_polled_for() {
    let example = TestFileBackends {
        complete_wait: Duration::from_millis(50),
        ..TestFileBackends::new().await
    };
    let mut service = TestService::with_file_backends(TestLimits::default(), Some(example)).await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    let id = file_id(&session);
    upload(&session["upload"], &bytes).await;
    let path = format!("/files/{id}/complete");
    for _ in 0..2 {
        // No worker scans.
        let answer = service
            .send_json(&customer, "POST", &path, &json!({}))
            .await;
        assert_eq!(
            (answer.status, &answer.body["status"]),
            (202, &json!("validating"))
        );
        // Provisional: the lifetime of the grant and 30 days after it was created.
        let expires_at = json!("2026-01-31T00:15:00.000000Z");
        assert_eq!(
            (&answer.body["id"], &answer.body["expires_at"]),
            (&json!(id), &expires_at)
        );
    }
    service
        .create_upload_session(&customer, b"another", "text/plain")
        .await;
    let validating = service.get(&customer, "/files?status=validating").await;
    let listed = validating.body["files"].as_array().unwrap();
    let listed: Vec<_> = listed.iter().map(|file| &file["id"]).collect();
    assert_eq!((validating.status, listed), (200, vec![&json!(id)]));
    service.scan_files().await;
    assert_eq!(service.get_file(&customer, &id).await["status"], "ready");
    let validating = service.get(&customer, "/files?status=validating").await;
    assert_eq!(validating.body["files"], json!([]));
}

#[tokio::test]
async fn many_wait_for_one_verdict() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    upload(&session["upload"], &bytes).await;
    let id = file_id(&session);
    let complete = || tokio::spawn(service.send_complete(&customer, &id, &json!({})));
    let waiting: Vec<_> = (0..20).map(|_| complete()).collect();
    // One more request is cancelled before its response.
    let gone = complete();
    while service.get_file(&customer, &id).await["status"] == "uploading" {}
    gone.abort();
    service.scan_files().await;
    for answer in waiting {
        let answer = answer.await.unwrap();
        // A request after the verdict finds the session closed.
        assert!(matches!(answer.status, 200 | 409), "{}", answer.body);
    }
}

#[tokio::test]
async fn h6_one_project_has_its_share_of_long_polls() {
    const MAX_LONG_POLLS_PER_PROJECT: usize = 64;
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    upload(&session["upload"], &bytes).await;
    let id = file_id(&session);
    let mut answers: FuturesUnordered<_> = (0..MAX_LONG_POLLS_PER_PROJECT + 6)
        .map(|_| tokio::spawn(service.send_complete(&customer, &id, &json!({}))))
        .collect();
    // Those beyond the limit do not wait. No worker scans yet, so the others do.
    for _ in 0..6 {
        let answer = answers.next().await.unwrap().unwrap();
        assert_eq!(answer.status, 202, "{}", answer.body);
    }
    service.scan_files().await;
    while let Some(answer) = answers.next().await {
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

#[tokio::test]
async fn an_aborted_session_is_over() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    let path = format!("/files/{}", file_id(&session));
    let aborted = service
        .send_json(&customer, "DELETE", &path, &Value::Null)
        .await;
    assert_eq!(aborted.status, 200);
    let shown = |field: &str| aborted.body[field].as_str().unwrap().to_owned();
    assert_eq!(
        [
            shown("status"),
            shown("failure_reason"),
            shown("expires_at")
        ],
        ["failed", "upload_aborted", "2026-01-31T00:15:00.000000Z"]
    );
    // The store still accepts the grant, but the file stays failed.
    post_upload(&session["upload"], &bytes).await;
    assert_eq!(
        service
            .complete_upload(&customer, &file_id(&session), &json!({}))
            .await
            .status,
        409
    );
    // The second delete expires the file; the third changes nothing.
    for _ in 0..2 {
        let again = service
            .send_json(&customer, "DELETE", &path, &Value::Null)
            .await;
        assert_eq!(
            (again.status, &again.body["status"]),
            (200, &json!("expired"))
        );
    }
    insta::assert_snapshot!(service.send_json(&customer, "DELETE", &format!("{path}?force=perhaps"), &Value::Null).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "force should be true or false.",
      "detail": {
        "error": "invalid_request",
        "message": "force should be true or false."
      }
    }
    "#);
    service.check_file_invariants().await;
}
