//! Live streams: each person has a limit, and every stream gets the page.

use std::time::Duration;

use axum::response::Response;
use domain::person::Role;
use http_body_util::BodyExt as _;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::TestService;

/// The first event of a stream.
async fn first_event(stream: Response) -> String {
    let mut body = stream.into_body();
    let frame = tokio::time::timeout(Duration::from_mins(1), body.frame()).await;
    let data = frame.unwrap().unwrap().unwrap().into_data().unwrap();
    String::from_utf8(data.to_vec()).unwrap()
}

#[tokio::test]
async fn m4_a_person_has_a_limited_number_of_live_streams() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let browser = Browser::member(&service, &customer, Role::Viewer).await;
    let page = project_path(&service, &customer, "/batches").await;
    let first = browser.open_stream(&page).await;
    let second = browser.open_stream(&page).await;
    assert_eq!(first.status(), 200);
    assert_eq!(second.status(), 200);
    let third = browser.open_stream(&page).await;
    assert_eq!(third.status(), 429);
    for stream in [first, second] {
        let event = first_event(stream).await;
        assert!(event.starts_with("event: page\ndata: <main"), "{event}");
    }
    // Both are closed now.
    assert_eq!(browser.open_stream(&page).await.status(), 200);
}
