//! Loads that name a file while it is deleted: the writer decides under the file's lock.

use futures::future::join_all;
use serde_json::Value;

use crate::support::files::question;
use crate::support::{Customer, Service};

/// Six loads and a delete at once: the status of the delete, and how many were loaded.
async fn race(service: &Service, customer: &Customer, image: &str, query: &str) -> (u16, usize) {
    let body = question("vision", &[("image", image)]);
    let loads = (0..6).map(|_| service.post_load(customer, &body));
    let path = format!("/files/{image}{query}");
    let delete = service.ask(customer, "DELETE", &path, &Value::Null);
    let (loads, deleted) = tokio::join!(join_all(loads), delete);
    for load in loads.iter().filter(|load| load.status != 202) {
        assert_eq!(load.body["detail"]["error"], "file_not_ready", "{load}");
        assert_eq!(load.body["detail"]["file_id"], image);
    }
    let loaded = loads.iter().filter(|load| load.status == 202).count();
    (deleted.status, loaded)
}

async fn refs(service: &Service, customer: &Customer, image: &str) -> u64 {
    let file = service.file(customer, image).await;
    file["active_ref_count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_named_or_deleted_and_never_both() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    for _ in 0..10 {
        let image = service.ready_image(&customer).await;
        let (deleted, loaded) = race(&service, &customer, &image, "").await;
        let expected = match deleted {
            200 => 0,
            409 => 6,
            other => panic!("deleting was answered {other}"),
        };
        assert_eq!(loaded, expected);
        assert_eq!(refs(&service, &customer, &image).await, expected as u64);
    }
    service.prove_files().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_named_a_file_before_it_was_forced_away_is_counted() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    for _ in 0..10 {
        let image = service.ready_image(&customer).await;
        let (deleted, loaded) = race(&service, &customer, &image, "?force=true").await;
        assert_eq!(deleted, 200);
        assert_eq!(refs(&service, &customer, &image).await, loaded as u64);
    }
    service.prove_files().await;
}
