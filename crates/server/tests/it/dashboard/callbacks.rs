//! Failed callbacks on pages: listed, counted, resent, stopped.

use std::time::Duration;

use domain::person::Role;
use store::shard::callback_health;
use store::shard::resend::{self, ResendState};
use test_support::callback_receiver::CallbackReceiver;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

const RETRY_DELAY_SECONDS: [u64; 5] = [30, 120, 600, 1800, 3600];

async fn exhaust_retries(
    service: &mut TestService,
    customer: &Customer,
    receiver: &CallbackReceiver,
) -> String {
    let mut last = String::new();
    for text in ["One.", "Two.", "Three."] {
        last = service
            .load(customer, &chat_request(text, Some(receiver.url())))
            .await;
    }
    receiver.queue_statuses(std::iter::repeat_n(500, 3 * 6));
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    for wait in RETRY_DELAY_SECONDS {
        service.clock.advance(Duration::from_secs(wait));
        service.run_until_idle().await;
    }
    while callback_health::fold(&service.north, 0, 1000)
        .await
        .unwrap()
        > 0
    {}
    last
}

/// The value of a field in the resend form of the page.
fn form_field(html: &str, name: &str) -> String {
    let form = &html[html.find("/callbacks/resend").unwrap()..];
    let begin = format!("name=\"{name}\" value=\"");
    let value = &form[form.find(&begin).unwrap() + begin.len()..];
    value[..value.find('"').unwrap()].to_owned()
}

#[tokio::test]
async fn failed_callbacks_are_counted_before_they_are_resent() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = exhaust_retries(&mut service, &customer, &receiver).await;
    let host = receiver.url().split('/').nth(2).unwrap().to_owned();

    let page = project_path(&service, &customer, "/callbacks").await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let seen = viewer.get(&page).await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains(&cargo) && seen.html.contains("failing"));
    assert!(!seen.html.contains("Preview"), "viewers send nothing");

    service.clock.advance(Duration::from_secs(5));
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let encoded: String = url::form_urlencoded::byte_serialize(host.as_bytes()).collect();
    let none = dev
        .get(&format!("{page}?resend={encoded}&until=2020-01-01T00:00"))
        .await;
    assert!(none.html.contains("There is nothing to resend"));
    let seen = dev
        .get(&format!("{page}?resend={encoded}&per_second=7"))
        .await;
    assert!(seen.html.contains("<strong>3 callbacks</strong>"));
    let until = form_field(&seen.html, "until");
    let form = [
        ("host", host.as_str()),
        ("since", ""),
        ("until", until.as_str()),
        ("per_second", "7"),
    ];
    let start = format!("{page}/resend");
    assert_eq!(viewer.post_form(&start, &form).await.status, 403);
    assert_eq!(
        resend::list(&service.north, customer.project)
            .await
            .unwrap(),
        []
    );
    assert_eq!(dev.post_form(&start, &form).await.status, 303);
    let started = resend::list(&service.north, customer.project)
        .await
        .unwrap();
    assert_eq!(
        (started.len(), started[0].total, started[0].per_second),
        (1, 3, 7)
    );

    let id = started[0].id.to_string();
    let stop = format!("{page}/stop");
    assert_eq!(
        viewer.post_form(&stop, &[("resend", &id)]).await.status,
        403
    );
    assert_eq!(dev.post_form(&stop, &[("resend", &id)]).await.status, 303);
    let stopped = resend::list(&service.north, customer.project)
        .await
        .unwrap();
    assert_eq!(stopped[0].state, ResendState::Stopped);

    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let log = format!("/dashboard/organization/{}/audit", customer.organization);
    let log = owner.get(&log).await.html;
    assert!(log.contains("resend.started") && log.contains("3 callbacks of cargo loaded"));
    assert!(log.contains("resend.stopped"));
}
