//! Erasing a project and zero retention, with encryption on.

use std::sync::Arc;

use domain::person::Role;
use domain::retention::ProjectRetention;
use serde_json::Value;
use store::shard::ledger_audit;
use store::shard::project_erasure::ProjectContents;
use store::shard::project_keys::{self, ProjectKeyRotation};
use test_support::callback_receiver::CallbackReceiver;

use super::{
    CHECK_INTERVAL, FILE_METADATA, FILENAME, FIRST_RETRY, MARKERS, MarkedContents, PROMPT,
    UNWRAPPED_AGE, assert_readable, load_markers, start_receiver, store_markers,
};
use crate::dashboard::browser::{Browser, project_path};
use crate::erasure::erase;
use crate::support::encryption::{FailingMasterKeys, file_master_keys};
use crate::support::files::TestFileBackends;
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// How many contents are left on the north shard, readable or not.
async fn count_contents(service: &TestService) -> i64 {
    let contents = "select
        (select count(*) from shard.request where octet_length(body) > 0 or metadata is not null)
        + (select count(*) from shard.outcome where octet_length(body) > 0)
        + (select count(*) from shard.attempt where answer is not null or encrypted)
        + (select count(*) from shard.cargo where callback_url like 'encrypted:%')
        + (select count(*) from shard.file
           where filename_encrypted is not null or metadata is not null)";
    let contents = sqlx::query_scalar(contents).fetch_one(&service.north.pool);
    contents.await.unwrap()
}

/// The markers that any reader shows.
async fn find_shown(
    service: &TestService,
    customer: &Customer,
    stored: &MarkedContents,
) -> Vec<&'static str> {
    let mut routes = vec![
        "/cargo".to_owned(),
        "/files".to_owned(),
        format!("/files/{}", stored.file),
    ];
    let mut pages = vec![
        "/cargo?status=failed".to_owned(),
        "/files".to_owned(),
        format!("/files/{}", stored.file),
    ];
    for cargo in [&stored.cargo, &stored.failed] {
        routes.extend(["tracking", "attempts"].map(|part| format!("/cargo/{cargo}/{part}")));
        let parts = ["", "/input.json", "/output.json"];
        pages.extend(parts.map(|part| format!("/cargo/{cargo}{part}")));
    }
    let mut shown = String::new();
    for route in routes {
        shown += &service.get(customer, &route).await.body.to_string();
    }
    let mut browser = Browser::member(service, customer, Role::Developer).await;
    let project = project_path(service, customer, "").await;
    for page in pages {
        shown += &browser.get(&format!("{project}{page}")).await.html;
    }
    let markers = MARKERS.into_iter();
    markers.filter(|marker| shown.contains(marker)).collect()
}

#[tokio::test]
async fn contents_of_a_project_whose_keys_were_destroyed_cannot_be_read() {
    let files = Some(TestFileBackends::new().await);
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), files).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    let neighbour = service.create_customer().await;
    let stored = store_markers(&mut service, &customer).await;
    let other = store_markers(&mut service, &neighbour).await;
    assert_eq!(find_shown(&service, &customer, &stored).await, MARKERS);
    let mut tx = service.north.begin().await.unwrap();
    let erased = project_keys::erase_project_keys(&mut tx, customer.project, service.now()).await;
    erased.unwrap();
    tx.commit().await.unwrap();
    service.clock.advance(CHECK_INTERVAL);
    for path in [
        format!("/cargo/{}/tracking", stored.cargo),
        format!("/cargo/{}/tracking", stored.failed),
    ] {
        let answer = service.get(&customer, &path).await;
        assert_eq!(answer.status, 500, "{path}");
    }
    let file = service.get_file(&customer, &stored.file).await;
    assert_eq!(file["filename"], "erased");
    assert_eq!(find_shown(&service, &customer, &stored).await, [""; 0]);
    // It never gets a key again, so nothing can be stored that could be read later.
    let load = chat_request(PROMPT, None);
    assert_eq!(service.post_load(&customer, &load).await.status, 503);
    let rotated =
        project_keys::rotate_project_key(&service.north, customer.project, service.now()).await;
    assert_eq!(rotated.unwrap(), ProjectKeyRotation::Erased);
    assert_readable(&service, &neighbour, &other).await;
}

#[tokio::test]
async fn an_erased_project_has_no_key_and_no_content() {
    let files = Some(TestFileBackends::new().await);
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), files).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    let stored = store_markers(&mut service, &customer).await;
    assert_ne!(count_contents(&service).await, 0);
    assert_eq!(find_shown(&service, &customer, &stored).await, MARKERS);
    assert_eq!(erase(&service, customer.project).await.cargo, 0);
    assert_eq!(count_contents(&service).await, 0);
    assert_eq!(find_shown(&service, &customer, &stored).await, [""; 0]);
    let status = project_keys::read_status(&service.north).await.unwrap();
    assert_eq!((status.projects, status.erased_projects), (0, 1));
    assert_eq!(status.master_keys, []);
    service.check_file_invariants().await;
}

#[tokio::test]
async fn cargo_in_flight_of_an_erased_project_ends_unread() {
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    let receiver = CallbackReceiver::new().await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    service.load(&customer, &body).await;
    assert_eq!(erase(&service, customer.project).await.open_cargo, 1);
    service.clock.advance(CHECK_INTERVAL + MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(receiver.requests().len(), 0);
    let left = erase(&service, customer.project).await;
    assert_eq!(left, ProjectContents::default());
    assert_eq!(count_contents(&service).await, 0);
    let report = ledger_audit::check_all(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
}

#[tokio::test]
async fn under_zero_retention_encrypted_contents_go_with_the_acknowledgement() {
    let master_keys = FailingMasterKeys::new();
    let keys = Arc::<FailingMasterKeys>::clone(&master_keys);
    let files = Some(TestFileBackends::new().await);
    let mut service = TestService::with_master_keys(keys, files).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Zero)
        .await;
    let receiver = start_receiver().await;
    let stored = load_markers(&mut service, &customer, &receiver.url()).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let callbacks = receiver.received().into_iter();
    let callbacks = callbacks.map(|it| String::from_utf8(it.body).unwrap());
    assert_eq!(callbacks.filter(|it| it.contains(PROMPT)).count(), 1);
    assert_eq!(find_shown(&service, &customer, &stored).await, MARKERS);
    service.clock.advance(FIRST_RETRY);
    service.run_until_idle().await;
    // The record of the file has its own lifetime.
    assert_eq!(count_contents(&service).await, 1);
    let of_file = [FILE_METADATA, FILENAME];
    assert_eq!(find_shown(&service, &customer, &stored).await, of_file);

    // Nothing is left to decrypt: no reader needs the master key.
    master_keys.set_failing(true);
    service.clock.advance(UNWRAPPED_AGE);
    let cargo = &stored.cargo;
    let record = service.track(&customer, cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(record["erased_at"], record["callback"]["delivered_at"]);
    assert_eq!(record["response"], Value::Null);
    assert_eq!(record["metadata"], Value::Null);
    // The scheme of an encrypted URL is not known any more.
    let host = format!("https://127.0.0.1:{}/", receiver.port());
    assert_eq!(record["callback"]["url"], host);
    let mut browser = Browser::member(&service, &customer, Role::Developer).await;
    let page = project_path(&service, &customer, &format!("/cargo/{cargo}")).await;
    assert_eq!(browser.get(&page).await.status, 200);
}
