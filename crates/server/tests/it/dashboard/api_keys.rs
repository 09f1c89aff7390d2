//! API keys and projects: changes on pages take effect for callers.

use std::time::Duration;

use domain::person::Role;
use serde_json::json;
use store::control::api_key;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::{Customer, TestService};

/// The key that a page shows once.
fn find_displayed_key(html: &str) -> Option<String> {
    let at = html.find("<code id=\"key\">svc_sk_")? + "<code id=\"key\">".len();
    Some(html[at..at + 39].to_owned())
}

async fn load_with_key(service: &TestService, key: &str) -> u16 {
    service.app.refresh_keys().await;
    let customer = service.create_customer().await;
    let customer = Customer {
        key: key.to_owned(),
        ..customer
    };
    let body = json!({"params": {"model": "svc-mock", "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}]}});
    service.post_load(&customer, &body).await.status
}

#[tokio::test]
async fn a_key_is_shown_once_and_nowhere_else() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let keys = project_path(&service, &customer, "/keys").await;
    let made = dev
        .post_form(&keys, &[("name", "<i>robot</i>"), ("days", "")])
        .await;
    let key = find_displayed_key(&made.html).unwrap();
    assert_eq!(load_with_key(&service, &key).await, 202);
    assert!(made.html.contains("&#60;i&#62;robot") && !made.html.contains("<i>robot"));
    let again = dev.get(&keys).await;
    assert!(!again.html.contains(&key[12..]), "the key is shown again");
    assert!(again.html.contains(&key[..12]));
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let log = owner
        .get(&format!(
            "/dashboard/organization/{}/audit",
            customer.organization
        ))
        .await;
    assert!(log.html.contains("key.created") && !log.html.contains(&key[12..]));
}

#[tokio::test]
async fn a_rotated_key_works_until_its_overlap_ends() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let keys = project_path(&service, &customer, "/keys").await;
    let old = customer.key_id.to_string();
    let rotate = format!("{keys}/rotate");
    assert_eq!(
        dev.post_form(&rotate, &[("key", &old), ("overlap", "7")])
            .await
            .status,
        422
    );
    let made = dev
        .post_form(&rotate, &[("key", &old), ("overlap", "3600")])
        .await;
    let new = find_displayed_key(&made.html).unwrap();
    assert_eq!(load_with_key(&service, &customer.key).await, 202);
    assert_eq!(load_with_key(&service, &new).await, 202);
    service.clock.advance(Duration::from_mins(61));
    assert_eq!(load_with_key(&service, &customer.key).await, 401);
    assert_eq!(load_with_key(&service, &new).await, 202);
    // A rotated key cannot be rotated again.
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    assert_eq!(
        dev.post_form(&rotate, &[("key", &old), ("overlap", "0")])
            .await
            .status,
        422
    );
}

#[tokio::test]
async fn m7_a_rotated_key_expires_when_the_old_one_would_have() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let keys = project_path(&service, &customer, "/keys").await;
    let contractor = [("name", "contractor"), ("days", "30")];
    let made = dev.post_form(&keys, &contractor).await;
    let old = api_key::list(&service.control, customer.project, None, 10)
        .await
        .unwrap();
    let old = old.iter().find(|key| key.name == "contractor").unwrap();
    let expired = find_displayed_key(&made.html).unwrap();

    let rotate = format!("{keys}/rotate");
    let id = old.id.to_string();
    let rotation = [("key", id.as_str()), ("overlap", "0")];
    let made = dev.post_form(&rotate, &rotation).await;
    let new = find_displayed_key(&made.html).unwrap();
    let rows = api_key::list(&service.control, customer.project, None, 10)
        .await
        .unwrap();
    let rotated = rows.iter().find(|key| key.id == old.id).unwrap();
    let successor = rows.iter().find(|key| Some(key.id) == rotated.successor);
    let successor = successor.unwrap();
    assert_eq!(successor.expires_at, old.expires_at);
    assert_eq!(load_with_key(&service, &expired).await, 401);
    assert_eq!(load_with_key(&service, &new).await, 202);

    // Nor does a rotation bring an expired key back.
    service.clock.advance(Duration::from_hours(24 * 30));
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    assert_eq!(load_with_key(&service, &new).await, 401);
    let id = successor.id.to_string();
    let rotation = [("key", id.as_str()), ("overlap", "0")];
    let refused = dev.post_form(&rotate, &rotation).await;
    assert_eq!(refused.status, 422);
}

#[tokio::test]
async fn a_key_of_another_project_is_not_found() {
    let service = TestService::new().await;
    let (customer, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let keys = project_path(&service, &customer, "/keys").await;
    let theirs = other.key_id.to_string();
    for action in ["rotate", "deactivate", "activate"] {
        let fields = [("key", theirs.as_str()), ("overlap", "0")];
        let seen = dev.post_form(&format!("{keys}/{action}"), &fields).await;
        assert_eq!(seen.status, 404, "{action}");
    }
    assert_eq!(load_with_key(&service, &other.key).await, 202);
}

#[tokio::test]
async fn a_deactivated_key_and_project_are_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let project = project_path(&service, &customer, "").await;
    assert_eq!(
        owner
            .post_form(&format!("{project}/settings/deactivate"), &[])
            .await
            .status,
        303
    );
    assert_eq!(load_with_key(&service, &customer.key).await, 403);
    assert!(
        owner
            .get(&format!("{project}/settings"))
            .await
            .html
            .contains("deactivated")
    );
    assert_eq!(
        owner
            .post_form(&format!("{project}/settings/activate"), &[])
            .await
            .status,
        303
    );
    assert_eq!(load_with_key(&service, &customer.key).await, 202);
    let id = customer.key_id.to_string();
    owner
        .post_form(&format!("{project}/keys/deactivate"), &[("key", &id)])
        .await;
    assert_eq!(load_with_key(&service, &customer.key).await, 401);
    owner
        .post_form(&format!("{project}/keys/activate"), &[("key", &id)])
        .await;
    assert_eq!(load_with_key(&service, &customer.key).await, 202);
}

#[tokio::test]
async fn a_key_is_created_with_a_scope_which_rotation_keeps() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let keys = project_path(&service, &customer, "/keys").await;
    let form = |models: &'static str, addresses: &'static str, cap: &'static str| {
        [
            ("name", "robot"),
            ("rights", "load,read"),
            ("models", models),
            ("addresses", addresses),
            ("cap", cap),
        ]
    };
    for wrong in [
        form("no-such-model", "", ""),
        form("", "10.0.0.0/33", ""),
        form("", "", "0"),
        form("", "", "a lot"),
    ] {
        assert_eq!(dev.post_form(&keys, &wrong).await.status, 422, "{wrong:?}");
    }
    let made = dev
        .post_form(&keys, &form("priced, svc-mock", "10.1.2.3/8", "12.50"))
        .await;
    let scope = "rights load, read; models priced, svc-mock; addresses 10.0.0.0/8; \
                 cap 12.50 dollars per month";
    assert!(made.html.contains(scope), "{}", made.html);
    assert!(made.html.contains("$0 of $12.50"), "{}", made.html);

    let robots = async || {
        let rows = api_key::list(&service.control, customer.project, None, 9).await;
        let rows = rows.unwrap().into_iter();
        rows.filter(|row| row.name == "robot").collect::<Vec<_>>()
    };
    let old = robots().await.pop().unwrap();
    let cap = old.scope.spending_cap.unwrap();
    assert_eq!(cap.key, old.id);
    let id = old.id.to_string();
    dev.post_form(&format!("{keys}/rotate"), &[("key", &id), ("overlap", "0")])
        .await;
    let successor = robots().await.into_iter().find(|row| row.id != old.id);
    // The successor goes on counting under the first key.
    assert_eq!(successor.unwrap().scope, old.scope);
}

#[tokio::test]
async fn an_owner_limits_the_lifetime_of_keys() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let organization = format!("/dashboard/organization/{}", customer.organization);
    let lifetime = format!("{organization}/key-lifetime");
    for wrong in ["0", "3651", "-1", "soon"] {
        let answer = owner.post_form(&lifetime, &[("days", wrong)]).await;
        assert_eq!(answer.status, 422, "{wrong}");
    }
    let answer = owner.post_form(&lifetime, &[("days", "30")]).await;
    assert_eq!(
        (answer.status, answer.location),
        (303, organization.clone())
    );
    let page = owner.get(&organization).await;
    assert!(
        page.html
            .contains("expires at most 30 days after its creation")
    );
    let key = api_key::find(&service.control, customer.key_id).await;
    let key = key.unwrap().unwrap();
    let limit = key.created_at + chrono::TimeDelta::days(30);
    assert_eq!(key.expires_at, Some(limit));
    let log = owner.get(&format!("{organization}/audit")).await;
    assert!(log.html.contains("organization.key_lifetime_changed"));
}
