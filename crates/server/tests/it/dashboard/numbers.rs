//! What was used, spent and done, as pages tell it: one's own, and of others nothing.

use domain::money::Money;
use domain::person::Role;
use store::shard::{lane, usage};

use crate::dashboard::browser::{Browser, slug};
use crate::support::credit::ask;
use crate::support::http::chat;
use crate::support::{MOCK_DELAY, Service};

async fn done(service: &mut Service) {
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    while usage::fold(&service.north, 0, 1000).await.unwrap() > 0 {}
}

#[tokio::test]
async fn usage_and_balance_tell_what_was_charged() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, Money(5_000_000_000)).await;
    for text in ["one", "two"] {
        service.load(&customer, &ask("priced", text, 10)).await;
    }
    service
        .load(&customer, &ask("priced-failing", "no", 10))
        .await;
    done(&mut service).await;
    let charged = Money(5_000_000_000) - service.account(&customer).await.posted;
    assert!(charged > Money::ZERO);

    let slug = slug(&service, &customer).await;
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    let page = format!("/dashboard/project/{slug}/usage");
    for query in [
        "",
        "?show=tokens",
        "?show=cargo&by=key&days=7",
        "?show=x&by=y&days=z",
    ] {
        let seen = viewer.see(&format!("{page}{query}")).await;
        assert_eq!(seen.status, 200);
        assert!(
            seen.html.contains("1 failed, 33 % of 3 completed"),
            "{query}"
        );
    }
    let table = viewer.see(&format!("{page}.csv?days=7&model=priced")).await;
    let lines: Vec<_> = table.html.lines().collect();
    assert_eq!(lines.len(), 2, "{}", table.html);
    assert!(lines[0].starts_with("day,model,key_id,key,loaded,"));
    let nanos = format!(",{},{},", charged, charged.nanos());
    assert!(lines[1].contains(",priced,") && lines[1].contains(&nanos));

    let page = format!("/dashboard/organization/{}/balance", customer.organization);
    let seen = viewer.see(&page).await;
    assert!(seen.html.contains("paid in") && seen.html.contains("cargo settled"));
    let statement = viewer.see(&format!("{page}.csv")).await.html;
    assert!(statement.lines().nth(1).unwrap().starts_with("1,"));
    let last = statement.lines().last().unwrap();
    let balance = service.account(&customer).await.posted.nanos();
    assert!(last.contains(&format!(",{balance},")), "{last}");
}

#[tokio::test]
async fn a_batch_tells_each_project_its_own() {
    let mut service = Service::new().await;
    let (one, other) = (service.customer().await, service.customer().await);
    let own = service.load(&one, &chat("Own.", None)).await;
    let foreign = service.load(&other, &chat("Foreign.", None)).await;
    done(&mut service).await;

    let mut viewer = Browser::of(&service, &one, Role::Viewer).await;
    let base = format!("/dashboard/project/{}", slug(&service, &one).await);
    let list = viewer.see(&format!("{base}/batches")).await.html;
    let at = list.find("/batches/bat_").unwrap() + "/batches/".len();
    let batch = list[at..at + 36].to_owned();
    assert_eq!(list.matches("/batches/bat_").count(), 1);
    let page = viewer.see(&format!("{base}/batches/{batch}")).await;
    assert_eq!(page.status, 200);
    assert!(page.html.contains("1 of 2 that travel together"));
    assert!(page.html.contains(&own) && !page.html.contains(&foreign));

    // Somebody who has nothing in it does not learn that it exists.
    let third = service.customer().await;
    let mut stranger = Browser::of(&service, &third, Role::Owner).await;
    let elsewhere = format!("/dashboard/project/{}", slug(&service, &third).await);
    let seen = stranger.see(&format!("{elsewhere}/batches/{batch}")).await;
    assert_eq!(seen.status, 404);
    let seen = stranger.see(&format!("{elsewhere}/batches")).await;
    assert!(seen.html.contains("No batch yet"));
}

#[tokio::test]
async fn models_tell_what_they_cost_and_how_they_fare() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("Hello.", None)).await;
    done(&mut service).await;
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    let page = format!(
        "/dashboard/project/{}/models",
        slug(&service, &customer).await
    );
    let seen = viewer.see(&page).await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains("svc-mock") && seen.html.contains("$0.10 <small>in"));
    assert!(
        !seen.html.contains("/cargo/new?model="),
        "viewers load nothing"
    );
    for (lane, _) in lane::all(&service.north).await.unwrap() {
        lane::pause(&service.north, lane, "x", Some("rests"), service.now())
            .await
            .unwrap();
    }
    let seen = viewer.see(&page).await;
    assert!(seen.html.contains("paused by an operator") && seen.html.contains("rests"));
}
