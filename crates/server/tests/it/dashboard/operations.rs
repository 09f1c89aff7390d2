//! The pages of operators: pauses, people, the audit log.

use domain::person::Role;
use serde_json::json;
use store::shard::{lane, provider};

use crate::dashboard::browser::{Browser, PUBLIC_URL, create_person};
use crate::support::TestService;

#[tokio::test]
async fn lanes_and_accounts_are_paused_with_a_reason_and_resumed() {
    let service = TestService::with_second_shard().await;
    let customer = service.create_customer_on("north").await;
    let body = json!({"params": {"model": "svc-mock", "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}]}});
    assert_eq!(service.post_load(&customer, &body).await.status, 202);
    let mut operator = Browser::operator(&service).await;
    let seen = operator.get("/dashboard/operations").await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains("svc-mock") && seen.html.contains("south"));

    let (id, of) = lane::list(&service.north).await.unwrap().remove(0);
    let number = id.0.to_string();
    let form = format!("/dashboard/operations/pause?shard=north&lane={number}");
    assert!(operator.get(&form).await.html.contains(&of.model));
    let pause = "/dashboard/operations/pause";
    let lane = [("shard", "north"), ("lane", number.as_str())];
    assert_eq!(
        operator.post_form(pause, &lane).await.status,
        422,
        "without a reason"
    );
    let why = [lane[0], lane[1], ("reason", "<i>prices</i> changed")];
    assert_eq!(operator.post_form(pause, &why).await.status, 303);
    let seen = operator.get("/dashboard/operations").await.html;
    assert!(seen.contains("&#60;i&#62;prices") && seen.contains("Resume"));
    assert_eq!(
        operator
            .post_form("/dashboard/operations/resume", &lane)
            .await
            .status,
        303
    );

    let account = [
        ("shard", "north"),
        ("account", of.provider.as_str()),
        ("reason", "audit"),
    ];
    assert_eq!(operator.post_form(pause, &account).await.status, 303);
    let paused = provider::list_paused(&service.north).await.unwrap();
    assert_eq!(paused[&of.provider].retry_at, None);
    assert_eq!(
        operator
            .post_form("/dashboard/operations/resume", &account[..2])
            .await
            .status,
        303
    );
    assert!(
        provider::list_paused(&service.north)
            .await
            .unwrap()
            .is_empty()
    );

    let log = operator.get("/dashboard/operations/audit").await.html;
    for action in [
        "lane.paused",
        "lane.resumed",
        "account.paused",
        "account.resumed",
    ] {
        assert!(log.contains(action), "{action}");
    }
    let nowhere = [("shard", "nowhere"), ("lane", "1"), ("reason", "x")];
    assert_eq!(operator.post_form(pause, &nowhere).await.status, 404);
}

#[tokio::test]
async fn people_are_deactivated_activated_and_get_password_resets() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut member = Browser::member(&service, &customer, Role::Viewer).await;
    let mut operator = Browser::operator(&service).await;
    let people = "/dashboard/operations/people";
    let listed = operator.get(people).await.html;
    assert!(listed.contains("(viewer)"));
    let found = store::view::people::list(&service.control, None, 10)
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
    assert_eq!(operator.post_form(&active, &out).await.status, 303);
    assert_eq!(
        member.get("/dashboard/account").await.status,
        303,
        "their session has ended"
    );
    let back = [("person", other.as_str()), ("to", "true")];
    assert_eq!(operator.post_form(&active, &back).await.status, 303);
    for route in ["active", "operator"] {
        let mine = [("person", me.as_str()), ("to", "false")];
        let path = format!("{people}/{route}");
        assert_eq!(
            operator.post_form(&path, &mine).await.status,
            422,
            "{route}"
        );
    }
    let raised = operator
        .post_form(&format!("{people}/operator"), &back)
        .await;
    assert_eq!(raised.status, 303);

    let offered = operator
        .post_form(&format!("{people}/link"), &[("person", &other)])
        .await
        .html;
    let at = offered
        .find(&format!("{PUBLIC_URL}/dashboard/reset?pass="))
        .unwrap();
    let link = &offered[at + PUBLIC_URL.len()..];
    let link = &link[..link.find('<').unwrap()];
    assert_eq!(Browser::new(&service).get(link).await.status, 200);
    assert!(!operator.get(people).await.html.contains("reset?pass="));
    let without_project = create_person(&service, false).await.to_string();
    assert_eq!(
        operator
            .post_form(&active, &[("person", &without_project), ("to", "true")])
            .await
            .status,
        303
    );
}
