//! How many uploads may be open, and how much may be stored.

use domain::limit::Limits;
use domain::organization::Plan;
use domain::storage::StorageQuota;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::files_scan::samples;
use crate::support::Service;
use crate::support::files::{Harbour, declare};
use crate::support::limited::Limited;

async fn with_quota(files: u64, bytes: u64) -> Service {
    let mut limited = Limited::default();
    let Limits { pro, .. } = &mut limited.limits;
    pro.storage = StorageQuota {
        files: Some(files),
        bytes: Some(bytes),
    };
    Service::with_harbour(limited, Some(Harbour::new().await)).await
}

#[tokio::test]
async fn of_a_hundred_sessions_at_once_twenty_are_opened() {
    let service = Service::with_files().await;
    let customer = service.customer().await;
    let bodies: Vec<_> = (0..100)
        .map(|_| declare(samples::unique().as_bytes(), "text/plain"))
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
      "message": "20 uploads of this project are open, and more may not be. Complete or delete one first: GET /files?status=uploading lists them.",
      "detail": {
        "error": "too_many_upload_sessions",
        "message": "20 uploads of this project are open, and more may not be. Complete or delete one first: GET /files?status=uploading lists them."
      }
    }
    "#);
    // Another project of the organization has twenty of its own.
    let sibling = service.sibling_of(&customer).await;
    assert_eq!(service.post_file(&sibling, &bodies[0]).await.status, 201);

    // Closing one makes room for one.
    let open = service.get(&customer, "/files?status=uploading").await.body;
    let first = open["files"][0]["id"].as_str().unwrap();
    let path = format!("/files/{first}");
    assert_eq!(
        service
            .ask(&customer, "DELETE", &path, &Value::Null)
            .await
            .status,
        200
    );
    assert_eq!(service.post_file(&customer, &bodies[0]).await.status, 201);
    assert_eq!(service.post_file(&customer, &bodies[1]).await.status, 409);
    service.prove_files().await;
}

#[tokio::test]
async fn a_plan_allows_so_many_bytes() {
    let mut service = with_quota(100, 1000).await;
    let customer = service.customer().await;
    let stored = samples::text(600);
    let id = service.ready(&customer, &stored, "text/plain").await;
    let next = declare(&samples::text(401), "text/plain");
    insta::assert_snapshot!(service.post_file(&customer, &next).await, @r#"
    403 {
      "error": "quota_exceeded",
      "message": "Your organization stores 600 of the 1000 bytes that its plan allows, and this file does not fit into the rest. Delete some, or choose a larger plan.",
      "detail": {
        "error": "quota_exceeded",
        "message": "Your organization stores 600 of the 1000 bytes that its plan allows, and this file does not fit into the rest. Delete some, or choose a larger plan."
      }
    }
    "#);
    // What is known takes no room, and what is aborted gives it back.
    let known = service
        .post_file(&customer, &declare(&stored, "text/plain"))
        .await;
    assert_eq!(known.status, 200);
    let rest = service
        .session(&customer, &samples::text(400), "text/plain")
        .await;
    assert_eq!(
        service
            .post_file(&customer, &declare(b"x", "text/plain"))
            .await
            .status,
        403
    );
    for gone in [&rest["id"], &known.body["id"], &json!(id)] {
        let path = format!("/files/{}", gone.as_str().unwrap());
        service.ask(&customer, "DELETE", &path, &Value::Null).await;
        service.prove_files().await;
    }
    assert_eq!(service.post_file(&customer, &next).await.status, 201);
}

#[tokio::test]
async fn a_plan_allows_so_many_files() {
    let service = with_quota(2, 1000).await;
    let customer = service.customer().await;
    for text in ["one", "two"] {
        service
            .session(&customer, text.as_bytes(), "text/plain")
            .await;
    }
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"three", "text/plain")).await, @r#"
    403 {
      "error": "quota_exceeded",
      "message": "Your organization stores 2 files, as many as its plan allows. Delete some, or choose a larger plan.",
      "detail": {
        "error": "quota_exceeded",
        "message": "Your organization stores 2 files, as many as its plan allows. Delete some, or choose a larger plan."
      }
    }
    "#);
}

#[tokio::test]
async fn the_free_plan_has_no_files() {
    let service = Service::with_files().await;
    let customer = service.customer_of(Plan::Free).await;
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"x", "text/plain")).await, @r#"
    403 {
      "error": "files_not_allowed_for_plan",
      "message": "The free plan has no files. Choose another plan to store files.",
      "detail": {
        "error": "files_not_allowed_for_plan",
        "message": "The free plan has no files. Choose another plan to store files."
      }
    }
    "#);
    // The other routes work.
    assert_eq!(service.get(&customer, "/files").await.status, 200);
    let starter = service.customer_of(Plan::Starter).await;
    assert_eq!(
        service
            .post_file(&starter, &declare(b"x", "text/plain"))
            .await
            .status,
        201
    );
}
