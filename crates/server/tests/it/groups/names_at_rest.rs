//! Names of groups at rest: encryption, retention and deletion.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::retention::ProjectRetention;
use serde_json::json;
use store::shard::{group, retention};
use workers::stage::Stage as _;

use super::{ALL_RESULTS, create_group, error_code, grouped, is_replay, read_group};
use crate::support::encryption::file_master_keys;
use crate::support::{MOCK_DELAY, TestService};

#[tokio::test]
async fn with_encryption_names_are_in_no_column_and_repeats_are_found() {
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = |name: &str| grouped("Secret.", group, &json!({"custom_id": name}));
    let before = service.load(&customer, &body("plain-name")).await;
    service.enable_encryption().await;
    service.clock.advance(Duration::from_secs(11));
    let after = service.load(&customer, &body("marker-name")).await;
    assert_eq!(service.find_text("marker-name").await, BTreeSet::new());
    for (name, first) in [("plain-name", &before), ("marker-name", &after)] {
        let again = service.post_load(&customer, &body(name)).await;
        assert!(is_replay(&again), "{name}");
        assert_eq!(again.cargo_id(), *first);
        assert_eq!(service.track(&customer, first).await["custom_id"], name);
        let other = grouped("Other.", group, &json!({"custom_id": name}));
        let other = service.post_load(&customer, &other).await;
        assert_eq!(error_code(&other), (409, "custom_id_reused"));
    }
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let rows = group::results_by_position(&service.north, customer.project, group, ALL_RESULTS);
    let names: Vec<_> = rows
        .await
        .unwrap()
        .into_iter()
        .map(|row| row.custom_id)
        .collect();
    assert_eq!(
        names,
        ["plain-name", "marker-name"].map(|it| Some(it.to_owned()))
    );
}

#[tokio::test]
async fn erased_cargo_keeps_its_place_without_its_name() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let now = service.now();
    let set = retention::set(
        &service.north,
        customer.project,
        ProjectRetention::Zero,
        now,
    )
    .await;
    set.unwrap();
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped("[mock:fail=storm]", group, &json!({"custom_id": "row-1"}));
    let cargo = service.load(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let now = service.clock.advance(Duration::from_hours(25));
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert!(!record["erased_at"].is_null());
    assert_eq!(
        (record.get("custom_id"), &record["position"]),
        (None, &json!(0))
    );
    assert_eq!(
        group::failures(&service.north, group, 10).await.unwrap(),
        []
    );
    let again = service.post_load(&customer, &body).await;
    assert_eq!(again.cargo_id(), cargo);
}

#[tokio::test]
async fn a_group_is_deleted_after_the_retention_of_its_newest_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let old = create_group(&service, &customer, "old").await.id;
    let used = create_group(&service, &customer, "used").await.id;
    service
        .load(&customer, &grouped("Old.", old, &json!({})))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(Duration::from_hours(20 * 24));
    service
        .load(&customer, &grouped("Newer.", used, &json!({})))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let now = service.clock.advance(Duration::from_hours(11 * 24));
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let found = group::find(&service.north, customer.project, old).await;
    assert_eq!(found.unwrap(), None);
    read_group(&service, &customer, used).await;
    let rows = "select (select count(*) from shard.group_member)
                    + (select count(*) from shard.group_result)";
    let rows = sqlx::query_scalar::<_, i64>(rows).fetch_one(&service.north.pool);
    assert_eq!(rows.await.unwrap(), 2);
}
