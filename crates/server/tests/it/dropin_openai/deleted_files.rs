//! Input files that are deleted while a batch is created from them, or before it has loaded them.

use domain::dropin::{BATCH_WINDOW, Facade};
use domain::id::{GroupId, ParcelId};
use store::shard::dropin::{self, DropinCreation, NewDropinBatch, RepeatIdentity};
use store::shard::parcel;

use super::{call, create, field, file_part, find, finish_all, id_of, line, unpack_all, upload};
use crate::support::TestService;

/// No test has more parcels.
const MAX_PARCELS: i64 = 10;

#[tokio::test]
async fn a_batch_is_not_created_from_a_file_that_was_deleted_meanwhile() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let parcel: ParcelId = file.replace("file-", "prc_").parse().unwrap();
    // The request has checked all lines. Now another one deletes the file.
    let deleted = call(&service, &customer, "DELETE", &format!("/files/{file}")).await;
    assert_eq!(deleted.body["deleted"], true, "{deleted}");
    let now = service.now();
    let group = GroupId::new(now, parcel.berth(), 1);
    let new = NewDropinBatch {
        group,
        organization: customer.organization,
        project: customer.project,
        key: customer.key_id,
        facade: Facade::OpenAi,
        parcel,
        items: 1,
        name: group.to_string(),
        options: None,
        expires_at: now + BATCH_WINDOW,
        failure: None,
        repeat: RepeatIdentity {
            body_digest: [0; 32],
            idempotency_key: None,
            is_retry: false,
            started_at: now,
        },
    };
    let created = dropin::create(&service.north, &new, now).await.unwrap();
    assert_eq!(created, DropinCreation::ParcelGone);
}

#[tokio::test]
async fn a_deleted_file_stays_until_its_batches_have_loaded_it() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let created = create(&service, &customer, &[line("a", "svc-mock")]).await;
    let file = created.body["input_file_id"].as_str().unwrap();
    call(&service, &customer, "DELETE", &format!("/files/{file}")).await;
    let now = service.now();
    let kept = parcel::delete_expired(&service.north, now, MAX_PARCELS).await;
    assert_eq!(kept.unwrap(), 0);
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &id_of(&created)).await;
    assert_eq!(ended["request_counts"]["completed"], 1, "{ended}");
    let deleted = parcel::delete_expired(&service.north, now, MAX_PARCELS).await;
    // The sweep stage may have deleted it before.
    assert!(deleted.unwrap() <= 1);
    let blocks = sqlx::query_scalar::<_, i64>("select count(*) from shard.parcel_block");
    assert_eq!(blocks.fetch_one(&service.north.pool).await.unwrap(), 0);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_batch_whose_items_are_gone_fails() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = ["a", "b"].map(|name| line(name, "svc-mock"));
    let id = id_of(&create(&service, &customer, &lines).await);
    let lost = sqlx::query("delete from shard.parcel_block");
    lost.execute(&service.north.pool).await.unwrap();
    unpack_all(&service).await;
    let failed = find(&service, &customer, &id).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(failed["errors"]["data"][0]["code"], "items_deleted");
}
