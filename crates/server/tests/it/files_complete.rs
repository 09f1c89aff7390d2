//! Complete, content and deletion: what callers see of the verdict.

use std::time::Duration;

use domain::file::MediaType;
use serde_json::{Value, json};

use crate::files_scan::samples;
use crate::storage::send;
use crate::support::Service;
use crate::support::files::{Harbour, post, put_part, put_parts, upload};
use crate::support::limited::Limited;

const MB: usize = 1 << 20;

fn id_of(session: &Value) -> String {
    session["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_good_file_is_ready_and_its_bytes_can_be_had() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let bytes = samples::of(MediaType::Pdf);
    let session = service.session(&customer, &bytes, "application/pdf").await;
    upload(&session["upload"], &bytes).await;
    let answer = service
        .complete(&customer, &id_of(&session), &json!({}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        (&answer.body["status"], &answer.body["scan_status"]),
        (&json!("ready"), &json!("clean"))
    );
    assert_eq!(answer.body["expires_at"], "2026-01-31T00:00:00.000000Z");
    assert_eq!(service.file(&customer, &id_of(&session)).await, answer.body);

    let path = format!("/files/{}/content", id_of(&session));
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
    insta::assert_snapshot!(service.complete(&customer, &id_of(&session), &json!({})).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file is ready. Only a session that is uploading can be completed.",
      "detail": {
        "error": "invalid_state",
        "message": "The file is ready. Only a session that is uploading can be completed."
      }
    }
    "#);
    service.prove_files().await;
}

#[tokio::test]
async fn parts_become_one_file() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let bytes = samples::text(17 * MB);
    let session = service.session(&customer, &bytes, "text/plain").await;
    let id = id_of(&session);
    let listed = put_parts(&session["upload"], &bytes).await;
    // A list with a gap leaves the session open.
    let gap = json!({"parts": [listed["parts"][1]]});
    insta::assert_snapshot!(service.complete(&customer, &id, &gap).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "parts should list every part of the 2; missing: 1.",
      "detail": {
        "error": "invalid_request",
        "message": "parts should list every part of the 2; missing: 1."
      }
    }
    "#);
    assert_eq!(service.file(&customer, &id).await["status"], "uploading");
    let answer = service.complete(&customer, &id, &listed).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["size_bytes"], 17 * MB);
    service.prove_files().await;
}

#[tokio::test]
async fn a_part_of_other_bytes_fails_the_file() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let session = service
        .session(&customer, &samples::text(9 * MB), "text/plain")
        .await;
    let part = &session["upload"]["parts"][0];
    let (checksum, sent) = put_part(&session["upload"], part, &samples::text(9 * MB)).await;
    let etag = sent.header("etag").unwrap();
    let parts = json!({"parts": [{"part_number": 1, "etag": etag, "checksum_sha256": checksum}]});
    insta::assert_snapshot!(service.complete(&customer, &id_of(&session), &parts).await, @r#"
    422 {
      "error": "checksum_mismatch",
      "message": "What was uploaded does not have the declared SHA-256. Create a new file and upload exactly the bytes that were hashed.",
      "detail": {
        "error": "checksum_mismatch",
        "message": "What was uploaded does not have the declared SHA-256. Create a new file and upload exactly the bytes that were hashed."
      }
    }
    "#);
    service.prove_files().await;
}

#[tokio::test]
async fn what_is_wrong_with_the_bytes_is_answered() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let missing = service
        .session(&customer, b"never sent", "text/plain")
        .await;
    insta::assert_snapshot!(service.complete(&customer, &id_of(&missing), &json!({})).await, @r#"
    422 {
      "error": "upload_missing",
      "message": "Nothing was uploaded, or not every part of it. Create a new file, upload it whole and then complete it.",
      "detail": {
        "error": "upload_missing",
        "message": "Nothing was uploaded, or not every part of it. Create a new file, upload it whole and then complete it."
      }
    }
    "#);

    let png = samples::of(MediaType::Png);
    let mistaken = service.session(&customer, &png, "image/jpeg").await;
    upload(&mistaken["upload"], &png).await;
    insta::assert_snapshot!(service.complete(&customer, &id_of(&mistaken), &json!({})).await, @r#"
    422 {
      "error": "magic_byte_mismatch",
      "message": "The bytes are not of the declared media type. Create a new file with their true type.",
      "detail": {
        "error": "magic_byte_mismatch",
        "message": "The bytes are not of the declared media type. Create a new file with their true type."
      }
    }
    "#);
    // Failed is the end.
    insta::assert_snapshot!(service.complete(&customer, &id_of(&mistaken), &json!({})).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file is failed. Only a session that is uploading can be completed.",
      "detail": {
        "error": "invalid_state",
        "message": "The file is failed. Only a session that is uploading can be completed."
      }
    }
    "#);
    let content = format!("/files/{}/content", id_of(&mistaken));
    insta::assert_snapshot!(service.get(&customer, &content).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file is failed. Only a file that is ready can be downloaded.",
      "detail": {
        "error": "invalid_state",
        "message": "The file is failed. Only a file that is ready can be downloaded."
      }
    }
    "#);

    let infected = service
        .session(&customer, &samples::eicar(), "text/plain")
        .await;
    upload(&infected["upload"], &samples::eicar()).await;
    insta::assert_snapshot!(service.complete(&customer, &id_of(&infected), &json!({})).await, @r#"
    422 {
      "error": "malware_detected",
      "message": "The malware scanner found something in this file.",
      "detail": {
        "error": "malware_detected",
        "message": "The malware scanner found something in this file."
      }
    }
    "#);
    let record = service.file(&customer, &id_of(&infected)).await;
    let shown = |field: &str| record[field].as_str().unwrap().to_owned();
    let shown = [
        shown("status"),
        shown("failure_reason"),
        shown("scan_status"),
    ];
    assert_eq!(shown, ["failed", "malware_detected", "infected"]);
    service.prove_files().await;
}

#[tokio::test]
async fn a_verdict_that_takes_longer_is_polled_for() {
    let harbour = Harbour {
        complete_wait: Duration::from_millis(50),
        ..Harbour::new().await
    };
    let mut service = Service::with_harbour(Limited::default(), Some(harbour)).await;
    let customer = service.customer().await;
    let bytes = samples::text(100);
    let session = service.session(&customer, &bytes, "text/plain").await;
    let id = id_of(&session);
    upload(&session["upload"], &bytes).await;
    let path = format!("/files/{id}/complete");
    for _ in 0..2 {
        // Nobody scans.
        let answer = service.ask(&customer, "POST", &path, &json!({})).await;
        assert_eq!(
            (answer.status, &answer.body["status"]),
            (202, &json!("validating"))
        );
        assert_eq!(
            (&answer.body["id"], &answer.body["expires_at"]),
            (&json!(id), &Value::Null)
        );
    }
    let now = service.now();
    service.crews[0].scan.settle(now).await.unwrap();
    assert_eq!(service.file(&customer, &id).await["status"], "ready");
}

#[tokio::test]
async fn many_wait_for_one_verdict() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let bytes = samples::text(100);
    let session = service.session(&customer, &bytes, "text/plain").await;
    upload(&session["upload"], &bytes).await;
    let path = format!("/files/{}/complete", id_of(&session));
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let request = axum::http::Request::post(&path).header("X-API-Key", &customer.key);
            let request = request.body(axum::body::Body::from("{}")).unwrap();
            tokio::spawn(crate::support::http::send(service.router.clone(), request))
        })
        .collect();
    // One more goes away before it hears.
    let request = axum::http::Request::post(&path).header("X-API-Key", &customer.key);
    let request = request.body(axum::body::Body::from("{}")).unwrap();
    let gone = tokio::spawn(crate::support::http::send(service.router.clone(), request));
    while service.file(&customer, &id_of(&session)).await["status"] == "uploading" {}
    gone.abort();
    let now = service.now();
    service.crews[0].scan.settle(now).await.unwrap();
    for answer in waiting {
        let answer = answer.await.unwrap();
        // Who came after the verdict finds the session over.
        assert!(matches!(answer.status, 200 | 409), "{}", answer.body);
    }
}

#[tokio::test]
async fn an_aborted_session_is_over() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let bytes = samples::text(100);
    let session = service.session(&customer, &bytes, "text/plain").await;
    let path = format!("/files/{}", id_of(&session));
    let aborted = service.ask(&customer, "DELETE", &path, &Value::Null).await;
    assert_eq!(aborted.status, 200);
    let shown = |field: &str| aborted.body[field].as_str().unwrap().to_owned();
    assert_eq!(
        [shown("status"), shown("failure_reason")],
        ["failed", "upload_aborted"]
    );
    // The grant still stands at the store, and leads to nothing.
    post(&session["upload"], &bytes).await;
    assert_eq!(
        service
            .complete(&customer, &id_of(&session), &json!({}))
            .await
            .status,
        409
    );
    // Once more, and it is expired; once more, and it stays so.
    for _ in 0..2 {
        let again = service.ask(&customer, "DELETE", &path, &Value::Null).await;
        assert_eq!(
            (again.status, &again.body["status"]),
            (200, &json!("expired"))
        );
    }
    insta::assert_snapshot!(service.ask(&customer, "DELETE", &format!("{path}?force=perhaps"), &Value::Null).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "force should be true or false.",
      "detail": {
        "error": "invalid_request",
        "message": "force should be true or false."
      }
    }
    "#);
    service.prove_files().await;
}
