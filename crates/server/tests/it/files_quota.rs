//! The limit of open upload sessions, and the storage quota.

use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::storage_quota::StorageQuota;
use futures::future::join_all;
use serde_json::{Value, json};
use test_support::sample_files;

use crate::support::TestService;
use crate::support::files::{TestFileBackends, create_file_request};
use crate::support::test_limits::TestLimits;

async fn service_with_quota(files: u64, bytes: u64) -> TestService {
    let mut limited = TestLimits::default();
    let LimitsByPlan { pro, .. } = &mut limited.plan_limits;
    pro.storage = StorageQuota {
        files: Some(files),
        bytes: Some(bytes),
    };
    TestService::with_file_backends(limited, Some(TestFileBackends::new().await)).await
}

#[tokio::test]
async fn of_a_hundred_sessions_at_once_twenty_are_opened() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bodies: Vec<_> = (0..100)
        .map(|_| create_file_request(sample_files::unique_text().as_bytes(), "text/plain"))
        .collect();
    let answers = join_all(bodies.iter().map(|body| service.post_file(&customer, body))).await;
    let of = |status| {
        answers
            .iter()
            .filter(|answer| answer.status == status)
            .count()
    };
    assert_eq!((of(201), of(409)), (20, 80));
    let refused = answers.iter().find(|answer| answer.status == 409).unwrap();
    insta::assert_snapshot!(refused, @r#"
    409 {
      "error": "too_many_upload_sessions",
      "message": "This project has 20 open upload sessions, which is the maximum. Complete or delete one first: GET /files?status=uploading lists them.",
      "detail": {
        "error": "too_many_upload_sessions",
        "message": "This project has 20 open upload sessions, which is the maximum. Complete or delete one first: GET /files?status=uploading lists them."
      }
    }
    "#);
    // Another project of the organization has its own twenty.
    let sibling = service.create_sibling_project(&customer).await;
    assert_eq!(service.post_file(&sibling, &bodies[0]).await.status, 201);

    // Closing a session allows one more.
    let open = service.get(&customer, "/files?status=uploading").await.body;
    let first = open["files"][0]["id"].as_str().unwrap();
    let path = format!("/files/{first}");
    assert_eq!(
        service
            .send_json(&customer, "DELETE", &path, &Value::Null)
            .await
            .status,
        200
    );
    assert_eq!(service.post_file(&customer, &bodies[0]).await.status, 201);
    assert_eq!(service.post_file(&customer, &bodies[1]).await.status, 409);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_plan_allows_so_many_bytes() {
    let mut service = service_with_quota(100, 1000).await;
    let customer = service.create_customer().await;
    let stored = sample_files::text(600);
    let id = service
        .upload_ready_file(&customer, &stored, "text/plain")
        .await;
    let next = create_file_request(&sample_files::text(401), "text/plain");
    insta::assert_snapshot!(service.post_file(&customer, &next).await, @r#"
    403 {
      "error": "quota_exceeded",
      "message": "Your organization stores 600 of the 1000 bytes that its plan allows, and this file would exceed the limit. Delete some files, or upgrade the plan.",
      "detail": {
        "error": "quota_exceeded",
        "message": "Your organization stores 600 of the 1000 bytes that its plan allows, and this file would exceed the limit. Delete some files, or upgrade the plan."
      }
    }
    "#);
    // Deduplicated bytes need no quota, and an aborted session returns its share.
    let known = service
        .post_file(&customer, &create_file_request(&stored, "text/plain"))
        .await;
    assert_eq!(known.status, 200);
    let rest = service
        .create_upload_session(&customer, &sample_files::text(400), "text/plain")
        .await;
    assert_eq!(
        service
            .post_file(&customer, &create_file_request(b"x", "text/plain"))
            .await
            .status,
        403
    );
    for gone in [&rest["id"], &known.body["id"], &json!(id)] {
        let path = format!("/files/{}", gone.as_str().unwrap());
        service
            .send_json(&customer, "DELETE", &path, &Value::Null)
            .await;
        service.check_file_invariants().await;
    }
    assert_eq!(service.post_file(&customer, &next).await.status, 201);
}

#[tokio::test]
async fn a_plan_allows_so_many_files() {
    let service = service_with_quota(2, 1000).await;
    let customer = service.create_customer().await;
    for text in ["one", "two"] {
        service
            .create_upload_session(&customer, text.as_bytes(), "text/plain")
            .await;
    }
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"three", "text/plain")).await, @r#"
    403 {
      "error": "quota_exceeded",
      "message": "Your organization stores 2 files, the maximum of its plan. Delete some files, or upgrade the plan.",
      "detail": {
        "error": "quota_exceeded",
        "message": "Your organization stores 2 files, the maximum of its plan. Delete some files, or upgrade the plan."
      }
    }
    "#);
}

#[tokio::test]
async fn the_free_plan_has_no_files() {
    let service = TestService::with_files().await;
    let customer = service.create_customer_with_plan(Plan::Free).await;
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"x", "text/plain")).await, @r#"
    403 {
      "error": "files_not_allowed_for_plan",
      "message": "The free plan does not include file storage. Upgrade the plan to store files.",
      "detail": {
        "error": "files_not_allowed_for_plan",
        "message": "The free plan does not include file storage. Upgrade the plan to store files."
      }
    }
    "#);
    // The other routes work.
    assert_eq!(service.get(&customer, "/files").await.status, 200);
    let starter = service.create_customer_with_plan(Plan::Starter).await;
    assert_eq!(
        service
            .post_file(&starter, &create_file_request(b"x", "text/plain"))
            .await
            .status,
        201
    );
}
