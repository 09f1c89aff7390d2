//! A project's cargo on pages: listed, looked into, loaded and called back again.

use std::time::Duration;

use domain::person::Role;
use serde_json::json;
use workers::stage::Stage as _;

use crate::dashboard::browser::{Browser, slug};
use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};

async fn cargo(service: &Service, customer: &Customer) -> String {
    format!("/dashboard/project/{}/cargo", slug(service, customer).await)
}

/// Counts are folded by sweep.
async fn fold(service: &mut Service) {
    let now = service.now();
    service.crews[0].sweep.step(now).await.unwrap();
}

#[tokio::test]
async fn what_strangers_wrote_is_text_wherever_it_is_shown() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let list = cargo(&service, &customer).await;
    let mut dev = Browser::of(&service, &customer, Role::Developer).await;
    let evil = "<script>alert(1)</script>\"'><img src=x>";
    let raw = json!({"params": {"model": "svc-mock", "max_tokens": 99, "system": evil,
        "messages": [{"role": "user", "content": evil}]}, "metadata": {evil: evil}});
    let raw = raw.to_string();
    let fields = [("raw", raw.as_str()), ("once", "a")];
    let loaded = dev.send(&format!("{list}/new"), &fields).await;
    assert_eq!((loaded.status, loaded.to.starts_with(&list)), (303, true));
    let failing = chat(&format!("[mock:fail={evil}]"), None);
    let failed = service.load(&customer, &failing).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    fold(&mut service).await;
    let refused = json!({"params": {"model": evil}}).to_string();
    let seen = [
        dev.see(&loaded.to).await,
        dev.see(&format!("{list}/{failed}")).await,
        dev.see(&list).await,
        dev.see(&format!("{list}?status=failed")).await,
        dev.see(&format!(
            "{list}?model=%3Cscript%3Ealert&host=%3Cscript%3E&id=%3Cscript%3E"
        ))
        .await,
        dev.see(&format!("{list}/new?like={failed}")).await,
        dev.send(&format!("{list}/new"), &[("raw", &refused), ("once", "b")])
            .await,
    ];
    for (place, seen) in seen.iter().enumerate() {
        assert!(
            seen.html.contains("<main"),
            "page {place} is {}",
            seen.status
        );
        let is_markup = seen.html.contains("<script>") || seen.html.contains("<img src=x");
        assert!(!is_markup, "page {place} has markup of a stranger");
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
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let list = cargo(&service, &customer).await;
    let new = format!("{list}/new");
    let mut dev = Browser::of(&service, &customer, Role::Developer).await;
    assert_eq!(dev.see(&new).await.status, 200);
    let fields = [
        ("model", "svc-mock"),
        ("max_tokens", "0"),
        ("message", "hi"),
        ("once", "1"),
    ];
    let refused = dev.send(&new, &fields).await;
    assert_eq!(refused.status, 422);
    assert!(refused.html.contains("max_tokens</code>") && refused.html.contains(">hi</textarea>"));
    let fields = [
        ("model", "svc-mock"),
        ("max_tokens", "9"),
        ("message", "hi"),
        ("once", "2"),
    ];
    let once = dev.send(&new, &fields).await;
    let twice = dev.send(&new, &fields).await;
    assert_eq!((once.status, &once.to), (303, &twice.to));
    let page = dev.see(&once.to).await;
    assert!(page.html.contains("waiting to be gathered") && page.html.contains("data-live-page"));
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let page = dev.see(&once.to).await;
    assert!(page.html.contains("the dashboard") && !page.html.contains("data-live-page"));
    let output = dev.see(&format!("{}/output.json", once.to)).await;
    assert_eq!(output.headers["content-type"], "application/json");
    assert!(output.html.contains("\"text\":\"hi\""));
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    assert_eq!(viewer.send(&new, &fields).await.status, 403);
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let settings = list.replace("/cargo", "/settings/deactivate");
    owner.send(&settings, &[]).await;
    assert_eq!(dev.send(&new, &fields).await.status, 403);
}

#[tokio::test]
async fn another_projects_cargo_is_not_found() {
    let service = Service::new().await;
    let (ours, theirs) = (service.customer().await, service.customer().await);
    let id = service.load(&theirs, &chat("secret", None)).await;
    let list = cargo(&service, &ours).await;
    let mut owner = Browser::of(&service, &ours, Role::Owner).await;
    for path in ["", "/input.json", "/output.json"] {
        assert_eq!(owner.see(&format!("{list}/{id}{path}")).await.status, 404);
    }
    assert_eq!(
        owner.send(&format!("{list}/{id}/resend"), &[]).await.status,
        404
    );
    assert_eq!(
        owner.see(&format!("{list}/new?like={id}")).await.status,
        404
    );
    assert!(!owner.see(&list).await.html.contains(&id));
    let found = owner.see(&format!("{list}?id={id}")).await;
    assert_eq!((found.status, found.to), (303, format!("{list}/{id}")));
}

#[tokio::test]
async fn a_callback_that_was_given_up_is_found_and_sent_again() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let list = cargo(&service, &customer).await;
    let id = service
        .load(&customer, &chat("hi", Some(receiver.url())))
        .await;
    receiver.answer([500; 6]);
    service.clock.advance(MOCK_DELAY);
    for _ in 0..6 {
        service.work().await;
        service.clock.advance(Duration::from_hours(1));
    }
    let mut dev = Browser::of(&service, &customer, Role::Developer).await;
    let troubles = format!("{list}?status=callback_failed");
    assert!(dev.see(&troubles).await.html.contains(&id));
    let page = dev.see(&format!("{list}/{id}")).await;
    assert!(page.html.contains("callback given up") && page.html.contains("Send again"));
    assert_eq!(
        page.html
            .matches("<span class=\"chip bad\">500</span>")
            .count(),
        6
    );
    let sent = dev.send(&format!("{list}/{id}/resend"), &[]).await;
    assert_eq!((sent.status, sent.to), (303, format!("{list}/{id}")));
    service.work().await;
    assert_eq!(receiver.received().len(), 7);
    let page = dev.see(&format!("{list}/{id}")).await;
    assert!(page.html.contains("callback delivered") && page.html.contains("data-confirm"));
    assert!(!dev.see(&troubles).await.html.contains(&id));
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let audit = format!("/dashboard/organization/{}/audit", customer.organization);
    assert!(owner.see(&audit).await.html.contains("callback.resent"));
}

#[tokio::test]
async fn filters_choose_and_pages_follow_each_other() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let list = cargo(&service, &customer).await;
    for number in 0..60 {
        let body = chat(&format!("number {number}"), None);
        service.load(&customer, &body).await;
        service.clock.advance(Duration::from_millis(5));
    }
    fold(&mut service).await;
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    let rows = |html: &str| html.matches("title=\"crg_").count();
    let first = viewer.see(&list).await.html;
    assert_eq!(rows(&first), 50);
    let at = first.find("rel=\"next\" href=\"").unwrap() + "rel=\"next\" href=\"".len();
    let next = first[at..].split('"').next().unwrap().replace("&#38;", "&");
    let second = viewer.see(&next).await.html;
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
        let seen = viewer.see(&of(&query)).await;
        assert_eq!((seen.status, rows(&seen.html)), (200, found), "{query}");
    }
}
