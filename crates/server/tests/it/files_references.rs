//! Loads that name files: what is refused, what is held, and what keeps a file.

use std::time::Duration;

use domain::file::MediaType;
use domain::model::{Capability, InputBounds, Kind, Model};
use domain::money::Money;
use serde_json::{Value, json};

use crate::files_scan::samples;
use crate::support::credit::{PRICE, priced};
use crate::support::files::question;
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};

/// Reads images and documents for money.
fn reader() -> Model {
    Model {
        capabilities: vec![Capability::Vision, Capability::Documents],
        bounds: InputBounds {
            image: 1000,
            page: 500,
            video_second: 0,
        },
        ..priced("reader", Kind::Chat, PRICE)
    }
}

async fn refs(service: &Service, customer: &Customer, id: &str) -> u64 {
    service.file(customer, id).await["active_ref_count"]
        .as_u64()
        .unwrap()
}

#[tokio::test]
async fn a_load_counts_its_files_until_its_outcome() {
    let mut service = Service::with_files().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let (image, other) = (
        service.ready_image(&customer).await,
        service.ready_image(&customer).await,
    );
    // Named twice is one reference, and another cargo is another.
    let mut body = question(
        "vision",
        &[("image", &image), ("image", &image), ("image", &other)],
    );
    body["callback_url"] = json!(receiver.url());
    service.load(&customer, &body).await;
    service
        .load(&customer, &question("vision", &[("image", &image)]))
        .await;
    assert_eq!(
        (
            refs(&service, &customer, &image).await,
            refs(&service, &customer, &other).await
        ),
        (2, 1)
    );
    service.prove_files().await;
    service.work().await;
    assert_eq!(refs(&service, &customer, &image).await, 2);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(
        (
            refs(&service, &customer, &image).await,
            refs(&service, &customer, &other).await
        ),
        (0, 0)
    );
    assert_eq!(receiver.received()[0]["success"], true);
    service.prove_files().await;
}

#[tokio::test]
async fn the_hold_is_sized_by_what_the_files_are() {
    let mut service = Service::with_files().await;
    service.sell(reader());
    let customer = service.customer().await;
    service.add_credit(&customer, Money(1_000_000_000)).await;
    let image = service.ready_image(&customer).await;
    let pdf = service
        .ready(&customer, &samples::pdf(7), "application/pdf")
        .await;
    let text = service
        .ready(&customer, &samples::text(300), "text/plain")
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
        let cargo = service.load(&customer, &question("reader", &files)).await;
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
    let mut service = Service::with_files().await;
    service.sell(reader());
    let customer = service.customer().await;
    service.add_credit(&customer, Money(1_000_000_000)).await;
    let image = service.ready_image(&customer).await;
    let session = service
        .session(&customer, &samples::of(MediaType::Png), "image/png")
        .await;
    let session = session["id"].as_str().unwrap();
    let load = async |kind: &str, id: &str| {
        let body = question("reader", &[(kind, id)]);
        let answer = service.post_load(&customer, &body).await;
        format!("{} {}", answer.status, answer.body).replace(id, "[file]")
    };
    insta::assert_snapshot!(load("image", &format!("file_{:032x}", 7)).await, @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("image", "nonsense").await, @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("image", session).await, @r#"422 {"detail":{"error":"file_not_ready","message":"The file is not ready. Only a file whose status is ready can be named: GET /files/{file_id} shows how it stands.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("document", &image).await, @r#"422 {"detail":{"error":"file_kind_mismatch","message":"The block is of type document and the file of kind image. Name it in a block of type image.","file_id":"[file]"}}"#);
    insta::assert_snapshot!(load("video", &image).await, @r#"422 {"detail":{"error":"model_capability_missing","message":"The model cannot read this: it has no video.","capability":"video"}}"#);
    let stranger = service.sibling_of(&customer).await;
    let theirs = service
        .post_load(&stranger, &question("reader", &[("image", &image)]))
        .await;
    assert_eq!(theirs.body["detail"]["error"], "file_not_found");
    // One bad among good ones refuses the load and counts nothing.
    let mixed = question("reader", &[("image", &image), ("image", session)]);
    assert_eq!(service.post_load(&customer, &mixed).await.status, 422);
    assert_eq!(refs(&service, &customer, &image).await, 0);
    service.prove_files().await;
}

#[tokio::test]
async fn a_file_in_use_goes_only_by_force() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let image = service.ready_image(&customer).await;
    let path = format!("/files/{image}");
    let cargo = service
        .load(&customer, &question("vision", &[("image", &image)]))
        .await;
    insta::assert_snapshot!(service.ask(&customer, "DELETE", &path, &Value::Null).await, @r#"
    409 {
      "error": "file_in_use",
      "message": "Cargo in flight name this file. Wait until they are done, or delete it with force=true: they may fail then.",
      "detail": {
        "error": "file_in_use",
        "message": "Cargo in flight name this file. Wait until they are done, or delete it with force=true: they may fail then."
      }
    }
    "#);
    assert_eq!(service.file(&customer, &image).await["status"], "ready");
    let forced = service
        .ask(
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
        .post_load(&customer, &question("vision", &[("image", &image)]))
        .await;
    assert_eq!(refused.body["detail"]["error"], "file_not_ready");
    // The cargo comes to its end all the same, and gives its reference back.
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
    assert_eq!(refs(&service, &customer, &image).await, 0);
    service.prove_files().await;
}

#[tokio::test]
async fn a_repeated_load_is_the_first_whatever_became_of_its_file() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let image = service.ready_image(&customer).await;
    let body = question("vision", &[("image", &image)]);
    let first = service
        .load_named(&customer, "once", &body)
        .await
        .cargo_id();
    let path = format!("/files/{image}?force=true");
    service.ask(&customer, "DELETE", &path, &Value::Null).await;
    let again = service.load_named(&customer, "once", &body).await;
    assert_eq!(again.headers["idempotent-replay"], "true");
    assert_eq!(again.cargo_id(), first);
    assert_eq!(refs(&service, &customer, &image).await, 1);
}

#[tokio::test]
async fn time_ends_a_file_that_nobody_names_or_pins() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let plain = service.ready_image(&customer).await;
    let pinned = service.ready_image(&customer).await;
    let named = service.ready_image(&customer).await;
    for (id, pinned) in [(&plain, false), (&pinned, true), (&named, false)] {
        let change = json!({"ttl_seconds": 3600, "pinned": pinned});
        service
            .ask(&customer, "PATCH", &format!("/files/{id}"), &change)
            .await;
    }
    let cargo = question("vision", &[("image", &named)]);
    service.load(&customer, &cargo).await;
    let link = service
        .get(&customer, &format!("/files/{plain}/content"))
        .await
        .body;

    service.clock.advance(Duration::from_hours(1));
    // Its time is over, swept or not.
    let late = service.post_load(&customer, &cargo).await;
    assert_eq!(late.body["detail"]["error"], "file_not_ready");
    assert_eq!(
        service
            .post_load(&customer, &question("vision", &[("image", &pinned)]))
            .await
            .status,
        202
    );
    service.sweep_files().await;
    let mut statuses = Vec::new();
    for id in [&plain, &pinned, &named] {
        statuses.push(
            service.file(&customer, id).await["status"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(statuses, ["expired", "ready", "ready"]);
    let gone = crate::storage::send("GET", link["download_url"].as_str().unwrap(), &[], b"").await;
    assert_eq!(gone.status, 404, "{gone:?}");
    service.prove_files().await;
}
