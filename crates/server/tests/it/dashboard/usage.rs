//! The pages of usage, balance, batches and models: a project sees its own cargo only.

use domain::money::Money;
use domain::person::Role;
use store::shard::{lane, usage};

use crate::dashboard::browser::{Browser, project_path};
use crate::support::credit::model_chat_request;
use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

async fn complete_cargo(service: &mut TestService) {
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    while usage::fold(&service.north, 0, 1000).await.unwrap() > 0 {}
}

#[tokio::test]
async fn usage_and_balance_show_what_was_charged() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, Money(5_000_000_000)).await;
    for text in ["one", "two"] {
        service
            .load(&customer, &model_chat_request("priced", text, 10))
            .await;
    }
    service
        .load(&customer, &model_chat_request("priced-failing", "no", 10))
        .await;
    complete_cargo(&mut service).await;
    let charged = Money(5_000_000_000) - service.read_account(&customer).await.posted;
    assert!(charged > Money::ZERO);

    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let page = project_path(&service, &customer, "/usage").await;
    for query in [
        "",
        "?show=tokens",
        "?show=cargo&by=key&days=7",
        "?show=x&by=y&days=z",
    ] {
        let seen = viewer.get(&format!("{page}{query}")).await;
        assert_eq!(seen.status, 200);
        assert!(
            seen.html.contains("1 failed, 33 % of 3 completed"),
            "{query}"
        );
    }
    let table = viewer.get(&format!("{page}.csv?days=7&model=priced")).await;
    let lines: Vec<_> = table.html.lines().collect();
    assert_eq!(lines.len(), 2, "{}", table.html);
    assert!(lines[0].starts_with("day,model,key_id,key,loaded,"));
    let nanos = format!(",{},{},", charged, charged.nanos());
    assert!(lines[1].contains(",priced,") && lines[1].contains(&nanos));

    let page = format!("/dashboard/organization/{}/balance", customer.organization);
    let seen = viewer.get(&page).await;
    assert!(seen.html.contains("deposit") && seen.html.contains("cargo settled"));
    let statement = viewer.get(&format!("{page}.csv")).await.html;
    assert!(statement.lines().nth(1).unwrap().starts_with("1,"));
    let last = statement.lines().last().unwrap();
    let balance = service.read_account(&customer).await.posted.nanos();
    assert!(last.contains(&format!(",{balance},")), "{last}");
}

#[tokio::test]
async fn a_batch_shows_each_project_only_its_own_cargo() {
    let mut service = TestService::new().await;
    let (one, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let own = service.load(&one, &chat_request("Own.", None)).await;
    let foreign = service.load(&other, &chat_request("Foreign.", None)).await;
    complete_cargo(&mut service).await;

    let mut viewer = Browser::member(&service, &one, Role::Viewer).await;
    let base = project_path(&service, &one, "").await;
    let list = viewer.get(&format!("{base}/batches")).await.html;
    let at = list.find("/batches/bat_").unwrap() + "/batches/".len();
    let batch = list[at..at + 36].to_owned();
    assert_eq!(list.matches("/batches/bat_").count(), 1);
    let page = viewer.get(&format!("{base}/batches/{batch}")).await;
    assert_eq!(page.status, 200);
    assert!(page.html.contains("1 of 2 are in this project"));
    assert!(page.html.contains(&own) && !page.html.contains(&foreign));

    // A project without cargo in the batch does not learn that it exists.
    let third = service.create_customer().await;
    let mut outsider = Browser::member(&service, &third, Role::Owner).await;
    let base = project_path(&service, &third, "").await;
    let seen = outsider.get(&format!("{base}/batches/{batch}")).await;
    assert_eq!(seen.status, 404);
    let seen = outsider.get(&format!("{base}/batches")).await;
    assert!(seen.html.contains("No batches yet"));
}

#[tokio::test]
async fn models_show_their_prices_and_pauses() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request("Hello.", None)).await;
    complete_cargo(&mut service).await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let page = project_path(&service, &customer, "/models").await;
    let seen = viewer.get(&page).await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains("svc-mock") && seen.html.contains("$0.10 <small>in"));
    assert!(
        !seen.html.contains("/cargo/new?model="),
        "viewers load nothing"
    );
    for (lane, _) in lane::list(&service.north).await.unwrap() {
        lane::pause(
            &service.north,
            lane,
            "x",
            Some("maintenance"),
            service.now(),
        )
        .await
        .unwrap();
    }
    let seen = viewer.get(&page).await;
    assert!(seen.html.contains("paused by an operator") && seen.html.contains("maintenance"));
}
