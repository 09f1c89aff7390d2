//! How long the items of a batch are kept as they came.

use std::time::Duration;

use domain::retention::ProjectRetention;
use serde_json::json;

use super::{id_of, item};
use crate::support::TestService;

#[tokio::test]
async fn under_zero_retention_items_are_kept_until_they_are_loaded() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let zero = ProjectRetention::Zero;
    service.choose_retention(&customer, zero).await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.sweep_after(Duration::from_mins(1)).await;
    assert_eq!(service.count_parcel_blocks().await, 1);
    service.unpack().await;
    service.sweep_after(Duration::from_mins(1)).await;
    assert_eq!(service.count_parcel_blocks().await, 0);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["request_counts"]["succeeded"], 1);
}

#[tokio::test]
async fn without_a_choice_items_are_kept_for_a_day() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    service.sweep_after(Duration::from_hours(23)).await;
    assert_eq!(service.count_parcel_blocks().await, 1);
    service.sweep_after(Duration::from_hours(1)).await;
    assert_eq!(service.count_parcel_blocks().await, 0);
}
