//! File records, lists and changes, and who may see them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::create_file_request_of_size;
use crate::support::{Customer, TestService};

async fn create_many(service: &TestService, customer: &Customer, count: usize) -> Vec<String> {
    let mut made = Vec::new();
    for _ in 0..count {
        service.clock.advance(Duration::from_millis(1));
        let session = service
            .post_file(customer, &create_file_request_of_size(100))
            .await
            .body;
        made.push(session["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    made
}

#[tokio::test]
async fn lists_are_paged_from_the_newest() {
    let service = TestService::with_files().await;
    let (customer, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let made = create_many(&service, &customer, 5).await;
    create_many(&service, &other, 1).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    let mut pages = 0;
    loop {
        let page = service
            .get(&customer, &format!("/files?limit=2{cursor}"))
            .await
            .body;
        let files = page["files"].as_array().unwrap();
        seen.extend(
            files
                .iter()
                .map(|file| file["id"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        // Files that are added meanwhile do not shift the next pages.
        create_many(&service, &customer, 1).await;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((seen, pages), (made, 3));
    let first = service.get(&customer, "/files?limit=2").await.body;
    let empty = service.get(&customer, "/files?limit=2&cursor=").await;
    assert_eq!((empty.status, empty.body), (200, first));
    let images = service
        .get(&customer, "/files?kind=image&status=uploading")
        .await;
    insta::assert_snapshot!(images, @r#"
    200 {
      "files": [],
      "next_cursor": null
    }
    "#);
    insta::assert_snapshot!(service.get(&customer, "/files?limit=201&status=lost&cursor=mine").await, @r#"
    422 {
      "error": "invalid_request",
      "message": "limit should be a whole number from 1 to 200; status should be one of uploading, validating, ready, failed, expired; cursor should be an unchanged next_cursor of an earlier response.",
      "detail": {
        "error": "invalid_request",
        "message": "limit should be a whole number from 1 to 200; status should be one of uploading, validating, ready, failed, expired; cursor should be an unchanged next_cursor of an earlier response."
      }
    }
    "#);
}

#[tokio::test]
async fn a_file_is_changed_as_long_as_it_lives() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let id = service.upload_ready_image(&customer).await;
    let path = format!("/files/{id}");
    service.clock.advance(Duration::from_mins(1));
    let change = json!({"ttl_seconds": 7200, "metadata": {"new": 2}, "pinned": true});
    let changed = service.send_json(&customer, "PATCH", &path, &change).await;
    assert_eq!(changed.status, 200);
    insta::assert_json_snapshot!(changed.body, {".id" => "[file]", ".sha256" => "[hex]"}, @r#"
    {
      "id": "[file]",
      "status": "ready",
      "kind": "image",
      "filename": "sample.bin",
      "media_type": "image/png",
      "size_bytes": 120,
      "sha256": "[hex]",
      "scan_status": "clean",
      "failure_reason": null,
      "ttl_seconds": 7200,
      "expires_at": "2026-01-01T02:01:00.000000Z",
      "pinned": true,
      "active_ref_count": 0,
      "metadata": {
        "new": 2
      },
      "created_at": "2026-01-01T00:00:00.000000Z"
    }
    "#);
    assert_eq!(service.get_file(&customer, &id).await, changed.body);
    // Omitted fields keep their values.
    let same = service
        .send_json(&customer, "PATCH", &path, &json!({"pinned": null}))
        .await;
    assert_eq!(same.body, changed.body);
    insta::assert_snapshot!(service.send_json(&customer, "PATCH", &path, &json!({"pinned": "perhaps"})).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "pinned should be true or false.",
      "detail": {
        "error": "invalid_request",
        "message": "pinned should be true or false."
      }
    }
    "#);
    service
        .send_json(&customer, "DELETE", &path, &Value::Null)
        .await;
    insta::assert_snapshot!(service.send_json(&customer, "PATCH", &path, &change).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file's status is expired. A failed or expired file cannot be changed.",
      "detail": {
        "error": "invalid_state",
        "message": "The file's status is expired. A failed or expired file cannot be changed."
      }
    }
    "#);
}

#[tokio::test]
async fn a_file_of_others_is_not_found() {
    let service = TestService::with_files_and_second_shard().await;
    let customer = service.create_customer().await;
    let outsiders = [
        service.create_customer().await,
        service.create_sibling_project(&customer).await,
        service.create_customer_on("south").await,
    ];
    let session = service
        .create_upload_session(&customer, b"private", "text/plain")
        .await;
    let path = format!("/files/{}", session["id"].as_str().unwrap());
    let requests = [
        ("GET", path.clone()),
        ("POST", format!("{path}/complete")),
        ("POST", format!("{path}/parts")),
        ("GET", format!("{path}/content")),
        ("PATCH", path.clone()),
        ("DELETE", format!("{path}?force=true")),
    ];
    for outsider in &outsiders {
        for (method, path) in &requests {
            let answer = service
                .send_json(outsider, method, path, &Value::Null)
                .await;
            assert_eq!(
                (answer.status, &answer.body["error"]),
                (404, &json!("file_not_found"))
            );
        }
    }
    for nonsense in [
        "nonsense",
        "file_",
        "%FF",
        "file_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        let answer = service.get(&customer, &format!("/files/{nonsense}")).await;
        assert_eq!(answer.status, 404, "{nonsense}");
    }
    insta::assert_snapshot!(service.get(&customer, "/files/nonsense").await, @r#"
    404 {
      "error": "file_not_found",
      "message": "There is no such file in this project.",
      "detail": {
        "error": "file_not_found",
        "message": "There is no such file in this project."
      }
    }
    "#);
    assert_eq!(
        service
            .get_file(&customer, session["id"].as_str().unwrap())
            .await["status"],
        "uploading"
    );
}

#[tokio::test]
async fn a_refused_key_keeps_its_plain_detail() {
    let service = TestService::with_files().await;
    let mut unknown = service.create_customer().await;
    unknown.key = "svc_sk_00000000000000000000000000000000".to_owned();
    for (method, path) in [
        ("POST", "/files"),
        ("GET", "/files"),
        ("GET", "/files/nonsense"),
    ] {
        let answer = service
            .send_json(&unknown, method, path, &Value::Null)
            .await;
        assert_eq!(
            (answer.status, &answer.body),
            (401, &json!({"detail": "Invalid API key."}))
        );
    }
}
