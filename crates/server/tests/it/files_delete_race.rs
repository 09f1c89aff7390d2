//! Loads that reference a file while it is deleted: the group commit decides under the file's lock.

use futures::future::join_all;
use serde_json::Value;

use crate::support::files::file_chat_request;
use crate::support::{Customer, TestService};

/// Six loads and a delete at once. Returns the status of the delete, and how many loads succeeded.
async fn race_loads_with_delete(
    service: &TestService,
    customer: &Customer,
    image: &str,
    query: &str,
) -> (u16, usize) {
    let body = file_chat_request("vision", &[("image", image)]);
    let loads = (0..6).map(|_| service.post_load(customer, &body));
    let path = format!("/files/{image}{query}");
    let delete = service.send_json(customer, "DELETE", &path, &Value::Null);
    let (loads, deleted) = tokio::join!(join_all(loads), delete);
    for load in loads.iter().filter(|load| load.status != 202) {
        assert_eq!(load.body["detail"]["error"], "file_not_ready", "{load}");
        assert_eq!(load.body["detail"]["file_id"], image);
    }
    let loaded = loads.iter().filter(|load| load.status == 202).count();
    (deleted.status, loaded)
}

async fn count_references(service: &TestService, customer: &Customer, image: &str) -> u64 {
    let file = service.get_file(customer, image).await;
    file["active_ref_count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_referenced_or_deleted_and_never_both() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    for _ in 0..10 {
        let image = service.upload_ready_image(&customer).await;
        let (deleted, loaded) = race_loads_with_delete(&service, &customer, &image, "").await;
        let expected = match deleted {
            200 => 0,
            409 => 6,
            other => panic!("the delete was answered with {other}"),
        };
        assert_eq!(loaded, expected);
        assert_eq!(
            count_references(&service, &customer, &image).await,
            expected as u64
        );
    }
    service.check_file_invariants().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_before_a_forced_delete_are_counted() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    for _ in 0..10 {
        let image = service.upload_ready_image(&customer).await;
        let (deleted, loaded) =
            race_loads_with_delete(&service, &customer, &image, "?force=true").await;
        assert_eq!(deleted, 200);
        assert_eq!(
            count_references(&service, &customer, &image).await,
            loaded as u64
        );
    }
    service.check_file_invariants().await;
}
