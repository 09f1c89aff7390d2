//! A project's cargo on pages: list, detail, load form, resend.

use std::time::Duration;

use domain::person::Role;
use serde_json::json;
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

async fn cargo_path(service: &TestService, customer: &Customer) -> String {
    project_path(service, customer, "/cargo").await
}

/// Sweep folds the counts.
async fn fold_counts(service: &mut TestService) {
    let now = service.now();
    service.worker_sets[0].sweep.step(now).await.unwrap();
}

#[tokio::test]
async fn user_supplied_text_is_escaped_on_every_page() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let list = cargo_path(&service, &customer).await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let evil = "<script>alert(1)</script>\"'><img src=x>";
    let raw = json!({"params": {"model": "svc-mock", "max_tokens": 99, "system": evil,
        "messages": [{"role": "user", "content": evil}]}, "metadata": {evil: evil}});
    let raw = raw.to_string();
    let fields = [("raw", raw.as_str()), ("once", "a")];
    let loaded = dev.post_form(&format!("{list}/new"), &fields).await;
    assert_eq!(
        (loaded.status, loaded.location.starts_with(&list)),
        (303, true)
    );
    let failing = chat_request(&format!("[mock:fail={evil}]"), None);
    let failed = service.load(&customer, &failing).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    fold_counts(&mut service).await;
    let refused = json!({"params": {"model": evil}}).to_string();
    let seen = [
        dev.get(&loaded.location).await,
        dev.get(&format!("{list}/{failed}")).await,
        dev.get(&list).await,
        dev.get(&format!("{list}?status=failed")).await,
        dev.get(&format!(
            "{list}?model=%3Cscript%3Ealert&host=%3Cscript%3E&id=%3Cscript%3E"
        ))
        .await,
        dev.get(&format!("{list}/new?like={failed}")).await,
        dev.post_form(&format!("{list}/new"), &[("raw", &refused), ("once", "b")])
            .await,
    ];
    for (place, seen) in seen.iter().enumerate() {
        assert!(
            seen.html.contains("<main"),
            "page {place} is {}",
            seen.status
        );
        let is_markup = seen.html.contains("<script>") || seen.html.contains("<img src=x");
        assert!(!is_markup, "page {place} has unescaped markup");
    }
    for shown in [0, 1, 3] {
        assert!(
            seen[shown].html.contains("script&#62;alert("),
            "page {shown} hides it"
        );
    }
}

#[tokio::test]
async fn a_cargo_is_loaded_through_every_check_of_the_api() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let list = cargo_path(&service, &customer).await;
    let new = format!("{list}/new");
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    assert_eq!(dev.get(&new).await.status, 200);
    let fields = [
        ("model", "svc-mock"),
        ("max_tokens", "0"),
        ("message", "hi"),
        ("once", "1"),
    ];
    let refused = dev.post_form(&new, &fields).await;
    assert_eq!(refused.status, 422);
    assert!(refused.html.contains("max_tokens</code>") && refused.html.contains(">hi</textarea>"));
    let fields = [
        ("model", "svc-mock"),
        ("max_tokens", "9"),
        ("message", "hi"),
        ("once", "2"),
    ];
    let once = dev.post_form(&new, &fields).await;
    let twice = dev.post_form(&new, &fields).await;
    assert_eq!((once.status, &once.location), (303, &twice.location));
    let page = dev.get(&once.location).await;
    assert!(page.html.contains("waiting to be gathered") && page.html.contains("data-live-page"));
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let page = dev.get(&once.location).await;
    assert!(page.html.contains("the dashboard") && !page.html.contains("data-live-page"));
    let output = dev.get(&format!("{}/output.json", once.location)).await;
    assert_eq!(output.headers["content-type"], "application/json");
    assert!(output.html.contains("\"text\":\"hi\""));
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    assert_eq!(viewer.post_form(&new, &fields).await.status, 403);
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let settings = list.replace("/cargo", "/settings/deactivate");
    owner.post_form(&settings, &[]).await;
    assert_eq!(dev.post_form(&new, &fields).await.status, 403);
}

#[tokio::test]
async fn another_projects_cargo_is_not_found() {
    let service = TestService::new().await;
    let (ours, theirs) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let id = service.load(&theirs, &chat_request("secret", None)).await;
    let list = cargo_path(&service, &ours).await;
    let mut owner = Browser::member(&service, &ours, Role::Owner).await;
    for path in ["", "/input.json", "/output.json"] {
        assert_eq!(owner.get(&format!("{list}/{id}{path}")).await.status, 404);
    }
    assert_eq!(
        owner
            .post_form(&format!("{list}/{id}/resend"), &[])
            .await
            .status,
        404
    );
    assert_eq!(
        owner.get(&format!("{list}/new?like={id}")).await.status,
        404
    );
    assert!(!owner.get(&list).await.html.contains(&id));
    let found = owner.get(&format!("{list}?id={id}")).await;
    assert_eq!(
        (found.status, found.location),
        (303, format!("{list}/{id}"))
    );
}

#[tokio::test]
async fn a_failed_callback_is_found_and_resent() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let list = cargo_path(&service, &customer).await;
    let id = service
        .load(&customer, &chat_request("hi", Some(receiver.url())))
        .await;
    receiver.queue_statuses([500; 6]);
    service.clock.advance(MOCK_DELAY);
    for _ in 0..6 {
        service.run_until_idle().await;
        service.clock.advance(Duration::from_hours(1));
    }
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let failures = format!("{list}?status=callback_failed");
    assert!(dev.get(&failures).await.html.contains(&id));
    let page = dev.get(&format!("{list}/{id}")).await;
    assert!(page.html.contains("callback failed") && page.html.contains(">Resend<"));
    assert_eq!(
        page.html
            .matches("<span class=\"chip bad\">500</span>")
            .count(),
        6
    );
    let sent = dev.post_form(&format!("{list}/{id}/resend"), &[]).await;
    assert_eq!((sent.status, sent.location), (303, format!("{list}/{id}")));
    service.run_until_idle().await;
    assert_eq!(receiver.callbacks().len(), 7);
    let page = dev.get(&format!("{list}/{id}")).await;
    assert!(page.html.contains("callback delivered") && page.html.contains("data-confirm"));
    assert!(!dev.get(&failures).await.html.contains(&id));
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let audit = format!("/dashboard/organization/{}/audit", customer.organization);
    assert!(owner.get(&audit).await.html.contains("callback.resent"));
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let list = cargo_path(&service, &customer).await;
    for number in 0..60 {
        let body = chat_request(&format!("number {number}"), None);
        service.load(&customer, &body).await;
        service.clock.advance(Duration::from_millis(5));
    }
    fold_counts(&mut service).await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let rows = |html: &str| html.matches("title=\"crg_").count();
    let first = viewer.get(&list).await.html;
    assert_eq!(rows(&first), 50);
    let at = first.find("rel=\"next\" href=\"").unwrap() + "rel=\"next\" href=\"".len();
    let next = first[at..].split('"').next().unwrap().replace("&#38;", "&");
    let second = viewer.get(&next).await.html;
    assert_eq!(
        (rows(&second), second.contains("rel=\"next\"")),
        (10, false)
    );
    let of = |query: &str| format!("{list}?{query}");
    let key = customer.key_id.to_string();
    for (query, found) in [
        ("status=pending".to_owned(), 50),
        ("status=completed".to_owned(), 0),
        ("model=svc-mock".to_owned(), 50),
        ("model=other".to_owned(), 0),
        (format!("key={key}"), 50),
        ("host=nowhere".to_owned(), 0),
        ("from=2025-12-31T00:00&to=2025-12-31T10:00".to_owned(), 0),
        ("from=2026-01-01T00:00&to=2026-01-01T01:00".to_owned(), 50),
    ] {
        let seen = viewer.get(&of(&query)).await;
        assert_eq!((seen.status, rows(&seen.html)), (200, found), "{query}");
    }
}
