//! Loads that reference files: refusals, holds, and reference counts.

use std::time::Duration;

use domain::file::MediaType;
use domain::model::{Capability, InputBounds, Model, ModelKind};
use domain::money::Money;
use serde_json::{Value, json};
use test_support::callback_receiver::CallbackReceiver;
use test_support::{object_store, sample_files};

use crate::support::credit::{PRICE, priced_model};
use crate::support::files::file_chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// A priced model that reads images and documents.
fn reader_model() -> Model {
    Model {
        capabilities: vec![Capability::Vision, Capability::Documents],
        bounds: InputBounds {
            image: 1000,
            page: 500,
            video_second: 0,
        },
        ..priced_model("reader", ModelKind::Chat, PRICE)
    }
}

async fn count_references(service: &TestService, customer: &Customer, id: &str) -> u64 {
    service.get_file(customer, id).await["active_ref_count"]
        .as_u64()
        .unwrap()
}

#[tokio::test]
async fn a_load_counts_its_files_until_its_outcome() {
    let mut service = TestService::with_files().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let (image, other) = (
        service.upload_ready_image(&customer).await,
        service.upload_ready_image(&customer).await,
    );
    // A file counts once per cargo, even if the cargo references it twice.
    let mut body = file_chat_request(
        "vision",
        &[("image", &image), ("image", &image), ("image", &other)],
    );
    body["callback_url"] = json!(receiver.url());
    service.load(&customer, &body).await;
    service
        .load(
            &customer,
            &file_chat_request("vision", &[("image", &image)]),
        )
        .await;
    assert_eq!(
        (
            count_references(&service, &customer, &image).await,
            count_references(&service, &customer, &other).await
        ),
        (2, 1)
    );
    service.check_file_invariants().await;
    service.run_until_idle().await;
    assert_eq!(count_references(&service, &customer, &image).await, 2);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        (
            count_references(&service, &customer, &image).await,
            count_references(&service, &customer, &other).await
        ),
        (0, 0)
    );
    assert_eq!(receiver.callbacks()[0]["success"], true);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn the_hold_is_sized_by_what_the_files_are() {
    let mut service = TestService::with_files().await;
    service.add_model(reader_model());
    let customer = service.create_customer().await;
    service.add_credit(&customer, Money(1_000_000_000)).await;
    let image = service.upload_ready_image(&customer).await;
    let pdf = service
        .upload_ready_file(
            &customer,
            &sample_files::pdf::document(7),
            "application/pdf",
        )
        .await;
    let text = service
        .upload_ready_file(&customer, &sample_files::text(300), "text/plain")
        .await;
    let mut held = Vec::new();
    let image = ("image", image.as_str());
    for files in [
        vec![],
        vec![image],
        vec![image; 2],
        vec![("document", &pdf)],
        vec![("document", &text)],
    ] {
        let cargo = service
            .load(&customer, &file_chat_request("reader", &files))
            .await;
        let record = service.track(&customer, &cargo).await;
        held.push(record["cost"]["held"].as_u64().unwrap());
    }
    let plain = held[0];
    let more: Vec<_> = held[1..].iter().map(|held| held - plain).collect();
    // 100 nano-dollars for each token that may be read.
    assert_eq!(more, [100_000, 200_000, 7 * 50_000, 30_000]);
}

#[tokio::test]
async fn bad_references_are_refused() {
    let mut service = TestService::with_files().await;
    service.add_model(reader_model());
    let customer = service.create_customer().await;
    service.add_credit(&customer, Money(1_000_000_000)).await;
    let image = service.upload_ready_image(&customer).await;
    let session = service
        .create_upload_session(
            &customer,
            &sample_files::valid_file(MediaType::Png),
            "image/png",
        )
        .await;
    let session = session["id"].as_str().unwrap();
    let load = async |kind: &str, id: &str| {
        let body = file_chat_request("reader", &[(kind, id)]);
        let answer = service.post_load(&customer, &body).await;
        format!("{} {}", answer.status, answer.body).replace(id, "[file]")
    };
    insta::assert_snapshot!(load("image", &format!("file_{:032x}", 7)).await, @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("image", "nonsense").await, @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("image", session).await, @r#"422 {"detail":{"error":"file_not_ready","message":"The file is not ready. Only a file with status ready can be referenced. GET /files/{file_id} shows its status.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("document", &image).await, @r#"422 {"detail":{"error":"file_kind_mismatch","message":"The block has type document, but the file is of kind image. Reference it in a block of type image.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("video", &image).await, @r#"422 {"detail":{"error":"model_capability_missing","message":"The model cannot read this file: it has no video capability. Choose another model.","capability":"video"}}"#);
    let sibling = service.create_sibling_project(&customer).await;
    let theirs = service
        .post_load(&sibling, &file_chat_request("reader", &[("image", &image)]))
        .await;
    assert_eq!(theirs.body["detail"]["error"], "file_not_found");
    // One bad reference refuses the load, and no reference is counted.
    let mixed = file_chat_request("reader", &[("image", &image), ("image", session)]);
    assert_eq!(service.post_load(&customer, &mixed).await.status, 422);
    assert_eq!(count_references(&service, &customer, &image).await, 0);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_file_in_use_is_deleted_only_with_force() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let image = service.upload_ready_image(&customer).await;
    let path = format!("/files/{image}");
    let cargo = service
        .load(
            &customer,
            &file_chat_request("vision", &[("image", &image)]),
        )
        .await;
    insta::assert_snapshot!(service.send_json(&customer, "DELETE", &path, &Value::Null).await, @r#"
    409 {
      "error": "file_in_use",
      "message": "Cargo in flight references this file. Wait until it is completed, or delete the file with force=true. The cargo may fail then.",
      "detail": {
        "error": "file_in_use",
        "message": "Cargo in flight references this file. Wait until it is completed, or delete the file with force=true. The cargo may fail then."
      }
    }
    "#);
    for no in ["false", "False", "0", "no", "off"] {
        let path = format!("{path}?force={no}");
        let refused = service
            .send_json(&customer, "DELETE", &path, &Value::Null)
            .await;
        assert_eq!(refused.status, 409, "{no}");
    }
    assert_eq!(service.get_file(&customer, &image).await["status"], "ready");
    let forced = service
        .send_json(
            &customer,
            "DELETE",
            &format!("{path}?force=true"),
            &Value::Null,
        )
        .await;
    assert_eq!(
        (forced.status, &forced.body["status"]),
        (200, &json!("expired"))
    );
    let refused = service
        .post_load(
            &customer,
            &file_chat_request("vision", &[("image", &image)]),
        )
        .await;
    assert_eq!(refused.body["detail"]["error"], "file_not_ready");
    // The cargo still completes, and releases its reference.
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
    assert_eq!(count_references(&service, &customer, &image).await, 0);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn a_replayed_load_succeeds_after_its_file_was_deleted() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let image = service.upload_ready_image(&customer).await;
    let body = file_chat_request("vision", &[("image", &image)]);
    let first = service
        .post_load_with_key(&customer, "once", &body)
        .await
        .cargo_id();
    let path = format!("/files/{image}?force=true");
    service
        .send_json(&customer, "DELETE", &path, &Value::Null)
        .await;
    let again = service.post_load_with_key(&customer, "once", &body).await;
    assert_eq!(again.headers["idempotent-replay"], "true");
    assert_eq!(again.cargo_id(), first);
    // With another body the key is refused before the files are.
    let other = file_chat_request("vision", &[("image", &image), ("image", &image)]);
    let reused = service.post_load_with_key(&customer, "once", &other).await;
    let error = &reused.body["detail"]["error"];
    assert_eq!(
        (reused.status, error),
        (409, &json!("idempotency_key_reused"))
    );
    let fresh = service.post_load_with_key(&customer, "twice", &other).await;
    let error = &fresh.body["detail"]["error"];
    assert_eq!((fresh.status, error), (422, &json!("file_not_ready")));
    assert_eq!(count_references(&service, &customer, &image).await, 1);
}

#[tokio::test]
async fn a_file_expires_unless_it_is_referenced_or_pinned() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let plain = service.upload_ready_image(&customer).await;
    let pinned = service.upload_ready_image(&customer).await;
    let referenced = service.upload_ready_image(&customer).await;
    for (id, pinned) in [(&plain, false), (&pinned, true), (&referenced, false)] {
        let change = json!({"ttl_seconds": 3600, "pinned": pinned});
        service
            .send_json(&customer, "PATCH", &format!("/files/{id}"), &change)
            .await;
    }
    let cargo = file_chat_request("vision", &[("image", &referenced)]);
    service.load(&customer, &cargo).await;
    let link = service
        .get(&customer, &format!("/files/{plain}/content"))
        .await
        .body;

    service.clock.advance(Duration::from_hours(1));
    // It has expired, even before sweep.
    let late = service.post_load(&customer, &cargo).await;
    assert_eq!(late.body["detail"]["error"], "file_not_ready");
    assert_eq!(
        service
            .post_load(
                &customer,
                &file_chat_request("vision", &[("image", &pinned)])
            )
            .await
            .status,
        202
    );
    service.sweep_files().await;
    let mut statuses = Vec::new();
    for id in [&plain, &pinned, &referenced] {
        statuses.push(
            service.get_file(&customer, id).await["status"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(statuses, ["expired", "ready", "ready"]);
    let gone = object_store::send("GET", link["download_url"].as_str().unwrap(), &[], b"").await;
    assert_eq!(gone.status, 404, "{gone:?}");
    service.check_file_invariants().await;
}

#[tokio::test]
async fn force_is_written_as_clients_write_it() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    for yes in ["True", "TRUE", "1", "yes", "on"] {
        let image = service.upload_ready_image(&customer).await;
        let chat = file_chat_request("vision", &[("image", &image)]);
        service.load(&customer, &chat).await;
        let path = format!("/files/{image}?force={yes}");
        let forced = service
            .send_json(&customer, "DELETE", &path, &Value::Null)
            .await;
        let status = &forced.body["status"];
        assert_eq!((forced.status, status), (200, &json!("expired")), "{yes}");
    }
}

#[tokio::test]
async fn a_video_is_accepted_by_a_model_that_reads_videos() {
    let mut service = TestService::with_files().await;
    service.add_model(Model {
        capabilities: vec![Capability::Video],
        ..Model::plain("watcher", "mock", ModelKind::Chat)
    });
    let customer = service.create_customer().await;
    let bytes = sample_files::valid_file(MediaType::Mp4);
    let video = service
        .upload_ready_file(&customer, &bytes, "video/mp4")
        .await;
    let chat = file_chat_request("watcher", &[("video", &video)]);
    let cargo = service.load(&customer, &chat).await;
    assert_eq!(count_references(&service, &customer, &video).await, 1);
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
    assert_eq!(count_references(&service, &customer, &video).await, 0);
}
