//! The store away, broken or not there: files are refused with a reason, loads go on.

use outbound::health::{Condition, FilesHealth};
use serde_json::{Value, json};

use crate::files_scan::samples;
use crate::files_scan::world::connect;
use crate::support::files::{Harbour, declare, question};
use crate::support::http::chat;
use crate::support::limited::Limited;
use crate::support::{Customer, Service};

mod process;

fn store_is(service: &Service, store: Condition) {
    service
        .harbour()
        .health
        .send_modify(|health| health.store = store);
}

fn scanner_is(service: &Service, scanner: Condition) {
    let known = |health: &mut FilesHealth| health.scanner = scanner;
    service.harbour().health.send_modify(known);
}

async fn create(service: &Service, customer: &Customer) -> u16 {
    let body = declare(&samples::text(100), "text/plain");
    service.post_file(customer, &body).await.status
}

#[tokio::test]
async fn without_a_store_files_are_refused_and_loads_go_on() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let image = service.ready_image(&customer).await;
    let session = service.session(&customer, b"ahoy", "text/plain").await;
    let open = session["id"].as_str().unwrap();
    let reason = "the object store cannot be reached: connection refused";
    store_is(&service, Condition::Away(reason.to_owned()));

    let refused = service
        .post_file(&customer, &declare(b"x", "text/plain"))
        .await;
    assert_eq!(refused.headers["retry-after"], "5");
    insta::assert_snapshot!(refused, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is away: the object store cannot be reached: connection refused. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is away: the object store cannot be reached: connection refused. Retry shortly."
      }
    }
    "#);
    for (method, path) in [
        ("POST", format!("/files/{open}/parts")),
        ("POST", format!("/files/{open}/complete")),
        ("GET", format!("/files/{image}/content")),
    ] {
        let answer = service.ask(&customer, method, &path, &json!({})).await;
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (503, &json!("storage_unavailable")),
            "{path}"
        );
    }
    // Rows need no store.
    assert_eq!(service.file(&customer, &image).await["status"], "ready");
    assert_eq!(service.get(&customer, "/files").await.status, 200);
    let pin = json!({"pinned": true});
    assert_eq!(
        service
            .ask(&customer, "PATCH", &format!("/files/{image}"), &pin)
            .await
            .status,
        200
    );
    service.load(&customer, &chat("Go on.", None)).await;
    service
        .load(&customer, &question("vision", &[("image", &image)]))
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

    store_is(&service, Condition::Well);
    assert_eq!(create(&service, &customer).await, 201);
}

#[tokio::test]
async fn what_is_deleted_without_a_store_is_gone_when_it_is_back() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let image = service.ready_image(&customer).await;
    let link = service
        .get(&customer, &format!("/files/{image}/content"))
        .await
        .body;
    let link = link["download_url"].as_str().unwrap();
    store_is(&service, Condition::Away("cut".to_owned()));
    let deleted = service
        .ask(
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
    assert_eq!(
        crate::storage::send("GET", link, &[], b"").await.status,
        200
    );
    store_is(&service, Condition::Well);
    service.sweep_files().await;
    assert_eq!(
        crate::storage::send("GET", link, &[], b"").await.status,
        404
    );
    service.prove_files().await;
}

#[tokio::test]
async fn a_store_that_fails_its_probe_is_not_used() {
    let service = Service::with_files().await;
    let customer = service.customer().await;
    let why =
        "the bucket must belong to this installation: the bucket belongs to another installation";
    store_is(&service, Condition::Failed(why.to_owned()));
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"x", "text/plain")).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage cannot be used: the bucket must belong to this installation: the bucket belongs to another installation. The operator of this installation has to mend it; `longshored doctor` says how.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage cannot be used: the bucket must belong to this installation: the bucket belongs to another installation. The operator of this installation has to mend it; `longshored doctor` says how."
      }
    }
    "#);
    store_is(&service, Condition::Unknown);
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"x", "text/plain")).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is being examined. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is being examined. Retry shortly."
      }
    }
    "#);
}

#[tokio::test]
async fn a_scanner_is_waited_for_but_one_that_finds_nothing_is_not_relied_on() {
    let service = Service::with_files().await;
    let customer = service.customer().await;
    scanner_is(
        &service,
        Condition::Away("the scanner cannot be reached".to_owned()),
    );
    assert_eq!(create(&service, &customer).await, 201);
    let why = "the scanner must find the test file that every scanner knows: clean";
    scanner_is(&service, Condition::Failed(why.to_owned()));
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"x", "text/plain")).await, @r#"
    503 {
      "error": "scanner_unavailable",
      "message": "The malware scanner cannot be relied on: the scanner must find the test file that every scanner knows: clean. The operator of this installation has to mend it; `longshored doctor` says how.",
      "detail": {
        "error": "scanner_unavailable",
        "message": "The malware scanner cannot be relied on: the scanner must find the test file that every scanner knows: clean. The operator of this installation has to mend it; `longshored doctor` says how."
      }
    }
    "#);
}

#[tokio::test]
async fn without_a_configured_store_there_are_no_files() {
    let service = Service::new().await;
    let customer = service.customer().await;
    insta::assert_snapshot!(service.post_file(&customer, &declare(b"x", "text/plain")).await, @r#"
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
async fn a_session_that_the_store_refuses_was_never_there() {
    // Well a moment ago, and now nobody listens there.
    let options = crate::storage::options();
    let harbour = Harbour {
        objects: connect(&options, &"http://127.0.0.1:1".parse().unwrap()).await,
        ..Harbour::new().await
    };
    let service = Service::with_harbour(Limited::default(), Some(harbour)).await;
    let customer = service.customer().await;
    let mut large = declare(b"x", "text/plain");
    large["size_bytes"] = json!(9 << 20);
    insta::assert_snapshot!(service.post_file(&customer, &large).await, @r#"
    503 {
      "error": "storage_unavailable",
      "message": "File storage is away: the object store cannot be reached: connection refused. Retry shortly.",
      "detail": {
        "error": "storage_unavailable",
        "message": "File storage is away: the object store cannot be reached: connection refused. Retry shortly."
      }
    }
    "#);
    insta::assert_snapshot!(service.get(&customer, "/files").await, @r#"
    200 {
      "files": [],
      "next_cursor": null
    }
    "#);
    service.prove_files().await;
}
