//! Callbacks that were given up: seen, counted, sent again, stopped.

use std::time::Duration;

use domain::person::Role;
use store::shard::callback_health;
use store::shard::resend::{self, State};

use crate::dashboard::browser::{Browser, slug};
use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};

const WAITS: [u64; 5] = [30, 120, 600, 1800, 3600];

async fn give_up(service: &mut Service, customer: &Customer, receiver: &Receiver) -> String {
    let mut last = String::new();
    for text in ["One.", "Two.", "Three."] {
        last = service
            .load(customer, &chat(text, Some(receiver.url())))
            .await;
    }
    receiver.answer(std::iter::repeat_n(500, 3 * 6));
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    for wait in WAITS {
        service.clock.advance(Duration::from_secs(wait));
        service.work().await;
    }
    while callback_health::fold(&service.north, 0, 1000)
        .await
        .unwrap()
        > 0
    {}
    last
}

/// What the form on the page says.
fn field(html: &str, name: &str) -> String {
    let form = &html[html.find("/callbacks/resend").unwrap()..];
    let begin = format!("name=\"{name}\" value=\"");
    let value = &form[form.find(&begin).unwrap() + begin.len()..];
    value[..value.find('"').unwrap()].to_owned()
}

#[tokio::test]
async fn given_up_callbacks_are_counted_before_they_are_sent_again() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let receiver = Receiver::new().await;
    let cargo = give_up(&mut service, &customer, &receiver).await;
    let host = receiver.url().split('/').nth(2).unwrap().to_owned();

    let page = format!(
        "/dashboard/project/{}/callbacks",
        slug(&service, &customer).await
    );
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    let seen = viewer.see(&page).await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains(&cargo) && seen.html.contains("fails"));
    assert!(!seen.html.contains("Count them"), "viewers send nothing");

    service.clock.advance(Duration::from_secs(5));
    let mut dev = Browser::of(&service, &customer, Role::Developer).await;
    let asked: String = url::form_urlencoded::byte_serialize(host.as_bytes()).collect();
    let none = dev
        .see(&format!("{page}?resend={asked}&until=2020-01-01T00:00"))
        .await;
    assert!(none.html.contains("there is nothing to send"));
    let seen = dev
        .see(&format!("{page}?resend={asked}&per_second=7"))
        .await;
    assert!(seen.html.contains("<strong>3 callbacks</strong>"));
    let until = field(&seen.html, "until");
    let form = [
        ("host", host.as_str()),
        ("since", ""),
        ("until", until.as_str()),
        ("per_second", "7"),
    ];
    let start = format!("{page}/resend");
    assert_eq!(viewer.send(&start, &form).await.status, 403);
    assert_eq!(
        resend::list(&service.north, customer.project)
            .await
            .unwrap(),
        []
    );
    assert_eq!(dev.send(&start, &form).await.status, 303);
    let started = resend::list(&service.north, customer.project)
        .await
        .unwrap();
    assert_eq!(
        (started.len(), started[0].total, started[0].per_second),
        (1, 3, 7)
    );

    let id = started[0].id.to_string();
    let stop = format!("{page}/stop");
    assert_eq!(viewer.send(&stop, &[("resend", &id)]).await.status, 403);
    assert_eq!(dev.send(&stop, &[("resend", &id)]).await.status, 303);
    let stopped = resend::list(&service.north, customer.project)
        .await
        .unwrap();
    assert_eq!(stopped[0].state, State::Stopped);

    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let log = format!("/dashboard/organization/{}/audit", customer.organization);
    let log = owner.see(&log).await.html;
    assert!(log.contains("resend.started") && log.contains("3 callbacks of cargo loaded"));
    assert!(log.contains("resend.stopped"));
}
