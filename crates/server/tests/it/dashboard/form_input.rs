//! Input that no browser sends: the dashboard refuses it, and never answers 500.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::extract::Request;
use dashboard::RequiredAccess;
use domain::person::Role;
use futures::stream;
use http::Method;
use http::header::CONTENT_TYPE;
use tower::ServiceExt as _;

use crate::dashboard::browser::{Browser, dashboard_router, fill_path, project_path, project_slug};
use crate::support::TestService;
use crate::support::http::chat_request;

#[tokio::test]
async fn a_nul_character_is_refused_wherever_a_text_is_stored_or_compared() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let base = project_path(&service, &customer, "").await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let organization = [("name", "a\0b"), ("plan", "pro")];
    let mut operator = Browser::operator(&service).await;
    let seen = [
        operator
            .post_form("/dashboard/organizations", &organization)
            .await,
        owner
            .post_form(&format!("{base}/keys"), &[("name", "a\0b")])
            .await,
        owner
            .get(&format!("{base}/cargo?status=callback_failed&host=%00"))
            .await,
        owner.get(&format!("{base}/callbacks?resend=%00")).await,
    ];
    for page in seen {
        assert_eq!(page.status, 422, "{}", page.html);
        assert!(page.html.contains("NUL character"), "{}", page.html);
    }
}

#[tokio::test]
async fn a_time_far_from_now_does_not_overflow() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = project_path(&service, &customer, "/cargo").await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    for year in ["-262143", "0000", "9999", "%2B262142"] {
        let time = format!("{year}-01-01T00:00");
        let query = format!("from={time}&to={time}&model=svc-mock");
        let page = viewer.get(&format!("{cargo}?{query}")).await;
        assert_eq!(page.status, 200, "{year}");
    }
}

/// A form without an end, and how many bytes of it the server has read.
fn endless_form() -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let pieces = stream::repeat_with(move || {
        counted.fetch_add(1 << 10, Ordering::Relaxed);
        Ok::<_, Infallible>("a".repeat(1 << 10))
    });
    (Body::from_stream(pieces), read)
}

#[tokio::test]
async fn clients_without_a_session_cannot_use_up_the_budget_for_bodies() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let slug = project_slug(&service, &customer).await;
    let router = dashboard_router(&service, None);
    let pages = dashboard::list_routes().into_iter();
    for (_, path, needs) in pages.filter(|(method, ..)| *method == Method::POST) {
        let (form, read) = endless_form();
        let request = Request::post(fill_path(path, customer.organization, &slug))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form)
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        // The first 16 KiB of a body are not counted. One more piece shows that it is longer.
        let expected: (u16, usize) = if needs == RequiredAccess::Public {
            (413, 17 << 10)
        } else {
            (401, 0)
        };
        let seen = (response.status().as_u16(), read.load(Ordering::Relaxed));
        assert_eq!(seen, expected, "{path}");
    }
}

#[tokio::test]
async fn only_the_form_that_loads_cargo_may_be_large() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let base = project_path(&service, &customer, "").await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let long = "a".repeat(64 << 10);
    let page = owner
        .post_form(&format!("{base}/keys"), &[("name", long.as_str())])
        .await;
    assert_eq!(page.status, 413, "{}", page.html);
    assert!(page.html.contains("The form is too large"), "{}", page.html);

    let raw = chat_request("Hello", None).to_string() + &" ".repeat(3 << 20);
    let form = [("raw", raw.as_str()), ("once", "large")];
    let loaded = owner.post_form(&format!("{base}/cargo/new"), &form).await;
    assert_eq!(loaded.status, 303, "{}", loaded.html);
}
