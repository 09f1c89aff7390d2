//! The object store unavailable, failing or not configured: files are refused with a reason, loads
//! are accepted.

use outbound::health::{DependencyHealth, FilesHealth};
use serde_json::{Value, json};
use test_support::{object_store, sample_files};

use crate::files_scan::fixture::connect_store;
use crate::support::files::{TestFileBackends, create_file_request, file_chat_request};
use crate::support::http::chat_request;
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, TestService};

mod process;

fn set_store_health(service: &TestService, store: DependencyHealth) {
    service
        .file_backends()
        .health
        .send_modify(|health| health.store = store);
}

fn set_scanner_health(service: &TestService, scanner: DependencyHealth) {
    let change = |health: &mut FilesHealth| health.scanner = scanner;
    service.file_backends().health.send_modify(change);
}

async fn create_file(service: &TestService, customer: &Customer) -> u16 {
    let body = create_file_request(&sample_files::text(100), "text/plain");
    service.post_file(customer, &body).await.status
}

#[tokio::test]
async fn without_a_store_files_are_refused_and_loads_go_on() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let image = service.upload_ready_image(&customer).await;
    let session = service
        .create_upload_session(&customer, b"ahoy", "text/plain")
        .await;
    let open = session["id"].as_str().unwrap();
    let reason = "the object store cannot be reached: connection refused";
    set_store_health(&service, DependencyHealth::Unreachable(reason.to_owned()));

    let refused = service
        .post_file(&customer, &create_file_request(b"x", "text/plain"))
        .await;
    assert_eq!(refused.headers["retry-after"], "5");
    insta::assert_snapshot!(refused, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is unavailable: the object store cannot be reached: connection refused. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is unavailable: the object store cannot be reached: connection refused. Retry shortly."
      }
    }
    "#);
    for (method, path) in [
        ("POST", format!("/files/{open}/parts")),
        ("POST", format!("/files/{open}/complete")),
        ("GET", format!("/files/{image}/content")),
    ] {
        let answer = service
            .send_json(&customer, method, &path, &json!({}))
            .await;
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (503, &json!("storage_unavailable")),
            "{path}"
        );
    }
    // Routes that only read rows need no store.
    assert_eq!(service.get_file(&customer, &image).await["status"], "ready");
    assert_eq!(service.get(&customer, "/files").await.status, 200);
    let pin = json!({"pinned": true});
    assert_eq!(
        service
            .send_json(&customer, "PATCH", &format!("/files/{image}"), &pin)
            .await
            .status,
        200
    );
    service.load(&customer, &chat_request("Go on.", None)).await;
    service
        .load(
            &customer,
            &file_chat_request("vision", &[("image", &image)]),
        )
        .await;
    let ready = service.get(&customer, "/ready").await;
    assert_eq!(
        (ready.status, &ready.body["status"]),
        (200, &json!("degraded"))
    );
    let rows = ready.body["dependencies"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["name"] == "object store")
        .unwrap();
    assert_eq!(row["state"], "away");

    set_store_health(&service, DependencyHealth::Healthy);
    assert_eq!(create_file(&service, &customer).await, 201);
}

#[tokio::test]
async fn what_is_deleted_without_a_store_is_gone_when_it_is_back() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let image = service.upload_ready_image(&customer).await;
    let link = service
        .get(&customer, &format!("/files/{image}/content"))
        .await
        .body;
    let link = link["download_url"].as_str().unwrap();
    set_store_health(&service, DependencyHealth::Unreachable("cut".to_owned()));
    let deleted = service
        .send_json(
            &customer,
            "DELETE",
            &format!("/files/{image}"),
            &Value::Null,
        )
        .await;
    assert_eq!(
        (deleted.status, &deleted.body["status"]),
        (200, &json!("expired"))
    );
    assert_eq!(object_store::send("GET", link, &[], b"").await.status, 200);
    set_store_health(&service, DependencyHealth::Healthy);
    service.sweep_files().await;
    assert_eq!(object_store::send("GET", link, &[], b"").await.status, 404);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_store_that_fails_its_probe_is_not_used() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let why =
        "the bucket must belong to this installation: the bucket belongs to another installation";
    set_store_health(&service, DependencyHealth::ProbeFailed(why.to_owned()));
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"x", "text/plain")).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage cannot be used: the bucket must belong to this installation: the bucket belongs to another installation. The operator of this installation must fix it; `longshored doctor` shows how.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage cannot be used: the bucket must belong to this installation: the bucket belongs to another installation. The operator of this installation must fix it; `longshored doctor` shows how."
      }
    }
    "#);
    set_store_health(&service, DependencyHealth::Unknown);
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"x", "text/plain")).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage has not been checked yet. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage has not been checked yet. Retry shortly."
      }
    }
    "#);
}

#[tokio::test]
async fn an_unreachable_scanner_is_waited_for_but_a_failing_one_refuses_files() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    set_scanner_health(
        &service,
        DependencyHealth::Unreachable("the scanner cannot be reached".to_owned()),
    );
    assert_eq!(create_file(&service, &customer).await, 201);
    let why = "the scanner must find the EICAR test file: clean";
    set_scanner_health(&service, DependencyHealth::ProbeFailed(why.to_owned()));
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"x", "text/plain")).await, @r#"
    503 {
      "error": "scanner_unavailable",
      "message": "The malware scanner does not work: the scanner must find the EICAR test file: clean. The operator of this installation must fix it; `longshored doctor` shows how.",
      "detail": {
        "error": "scanner_unavailable",
        "message": "The malware scanner does not work: the scanner must find the EICAR test file: clean. The operator of this installation must fix it; `longshored doctor` shows how."
      }
    }
    "#);
}

#[tokio::test]
async fn without_a_configured_store_there_are_no_files() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"x", "text/plain")).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is not configured on this installation: SVC_OBJECTS_URL is not set.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is not configured on this installation: SVC_OBJECTS_URL is not set."
      }
    }
    "#);
    assert_eq!(service.get(&customer, "/files").await.status, 200);
    let ready = service.get(&customer, "/ready").await.body;
    let rows = ready["dependencies"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["name"] != "object store"));
}

#[tokio::test]
async fn a_session_that_the_store_refuses_is_retracted() {
    // Its health check succeeded, and now no server listens there.
    let options = object_store::options();
    let backends = TestFileBackends {
        object_store: connect_store(&options, &"http://127.0.0.1:1".parse().unwrap()).await,
        ..TestFileBackends::new().await
    };
    let service = TestService::with_file_backends(TestLimits::default(), Some(backends)).await;
    let customer = service.create_customer().await;
    let mut large = create_file_request(b"x", "text/plain");
    large["size_bytes"] = json!(9 << 20);
    insta::assert_snapshot!(service.post_file(&customer, &large).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is unavailable: the object store cannot be reached: connection refused. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is unavailable: the object store cannot be reached: connection refused. Retry shortly."
      }
    }
    "#);
    insta::assert_snapshot!(service.get(&customer, "/files").await, @r#"
    200 {
      "files": [],
      "next_cursor": null
    }
    "#);
    service.check_file_invariants().await;
}
