//! What those who run the service see and do.

use domain::person::Role;
use serde_json::json;
use store::shard::{lane, provider};

use crate::dashboard::browser::{Browser, PUBLIC, somebody};
use crate::support::Service;

#[tokio::test]
async fn lanes_and_accounts_are_paused_with_a_reason_and_resumed() {
    let service = Service::new().await;
    let customer = service.customer_on("north").await;
    let body = json!({"params": {"model": "svc-mock", "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}]}});
    assert_eq!(service.post_load(&customer, &body).await.status, 202);
    let mut operator = Browser::operator(&service).await;
    let seen = operator.see("/dashboard/operations").await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains("svc-mock") && seen.html.contains("south"));

    let (id, of) = lane::all(&service.north).await.unwrap().remove(0);
    let number = id.0.to_string();
    let asked = format!("/dashboard/operations/pause?shard=north&lane={number}");
    assert!(operator.see(&asked).await.html.contains(&of.model));
    let pause = "/dashboard/operations/pause";
    let lane = [("shard", "north"), ("lane", number.as_str())];
    assert_eq!(
        operator.send(pause, &lane).await.status,
        422,
        "without a reason"
    );
    let why = [lane[0], lane[1], ("reason", "<i>prices</i> changed")];
    assert_eq!(operator.send(pause, &why).await.status, 303);
    let seen = operator.see("/dashboard/operations").await.html;
    assert!(seen.contains("&#60;i&#62;prices") && seen.contains("Resume"));
    assert_eq!(
        operator
            .send("/dashboard/operations/resume", &lane)
            .await
            .status,
        303
    );

    let account = [
        ("shard", "north"),
        ("account", of.provider.as_str()),
        ("reason", "audit"),
    ];
    assert_eq!(operator.send(pause, &account).await.status, 303);
    let paused = provider::paused(&service.north).await.unwrap();
    assert_eq!(paused[&of.provider].retry_at, None);
    assert_eq!(
        operator
            .send("/dashboard/operations/resume", &account[..2])
            .await
            .status,
        303
    );
    assert!(provider::paused(&service.north).await.unwrap().is_empty());

    let log = operator.see("/dashboard/operations/audit").await.html;
    for action in [
        "lane.paused",
        "lane.resumed",
        "account.paused",
        "account.resumed",
    ] {
        assert!(log.contains(action), "{action}");
    }
    let nowhere = [("shard", "nowhere"), ("lane", "1"), ("reason", "x")];
    assert_eq!(operator.send(pause, &nowhere).await.status, 404);
}

#[tokio::test]
async fn people_are_shut_out_let_in_and_helped() {
    let service = Service::new().await;
    let customer = service.customer().await;
    let mut member = Browser::of(&service, &customer, Role::Viewer).await;
    let mut operator = Browser::operator(&service).await;
    let people = "/dashboard/operations/people";
    let listed = operator.see(people).await.html;
    assert!(listed.contains("(viewer)"));
    let found = store::view::people::page(&service.control, None, 10)
        .await
        .unwrap();
    let (me, other) = (
        found
            .iter()
            .find(|one| one.is_operator)
            .unwrap()
            .id
            .to_string(),
        found
            .iter()
            .find(|one| !one.is_operator)
            .unwrap()
            .id
            .to_string(),
    );
    let active = format!("{people}/active");
    let out = [("person", other.as_str()), ("to", "false")];
    assert_eq!(operator.send(&active, &out).await.status, 303);
    assert_eq!(
        member.see("/dashboard/account").await.status,
        303,
        "their session has ended"
    );
    let back = [("person", other.as_str()), ("to", "true")];
    assert_eq!(operator.send(&active, &back).await.status, 303);
    for route in ["active", "operator"] {
        let mine = [("person", me.as_str()), ("to", "false")];
        let path = format!("{people}/{route}");
        assert_eq!(operator.send(&path, &mine).await.status, 422, "{route}");
    }
    let raised = operator.send(&format!("{people}/operator"), &back).await;
    assert_eq!(raised.status, 303);

    let offered = operator
        .send(&format!("{people}/link"), &[("person", &other)])
        .await
        .html;
    let at = offered
        .find(&format!("{PUBLIC}/dashboard/reset?pass="))
        .unwrap();
    let link = &offered[at + PUBLIC.len()..];
    let link = &link[..link.find('<').unwrap()];
    assert_eq!(Browser::new(&service).see(link).await.status, 200);
    assert!(!operator.see(people).await.html.contains("reset?pass="));
    let stranger = somebody(&service, false).await.to_string();
    assert_eq!(
        operator
            .send(&active, &[("person", &stranger), ("to", "true")])
            .await
            .status,
        303
    );
}
