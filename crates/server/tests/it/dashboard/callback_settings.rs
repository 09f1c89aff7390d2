//! The page with a project's callback settings: secrets are shown on request, and audited.

use domain::person::Role;
use store::shard::callback_settings;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::signing::signing_roots;
use crate::support::{Customer, TestService};

struct SettingsFixture {
    service: TestService,
    customer: Customer,
    developer: Browser,
    path: String,
}

impl SettingsFixture {
    async fn new() -> Self {
        let service = TestService::new().await;
        let customer = service.create_customer().await;
        Self {
            developer: Browser::member(&service, &customer, Role::Developer).await,
            path: project_path(&service, &customer, "/settings/callbacks").await,
            service,
            customer,
        }
    }

    async fn post(&mut self, action: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let path = format!("{}/{action}", self.path);
        let seen = self.developer.post_form(&path, fields).await;
        (seen.status, seen.html)
    }

    fn secret(&self, version: u32) -> String {
        let secret = signing_roots().secret(self.customer.project, version);
        secret.reveal()
    }

    async fn audit_actions(&self) -> Vec<String> {
        let actions = "select action from control.audit
                       where action like 'signing.%' or action like 'callback_metadata.%'
                       order by id";
        let actions = sqlx::query_scalar(actions).fetch_all(&self.service.control.pool);
        actions.await.unwrap()
    }
}

#[tokio::test]
async fn a_secret_is_shown_when_it_is_made_or_requested_and_never_else() {
    let mut fixture = SettingsFixture::new().await;
    let (status, html) = fixture.post("enable", &[]).await;
    assert_eq!(status, 200);
    assert!(html.contains(&fixture.secret(1)), "{html}");
    let (path, first) = (fixture.path.clone(), fixture.secret(1));
    let again = fixture.developer.get(&path).await;
    assert!(again.html.contains("signed") && !again.html.contains("whsec_"));
    let (_, html) = fixture.post("secret", &[]).await;
    assert!(html.contains(&first));
    assert_eq!(
        fixture.audit_actions().await,
        ["signing.enabled", "signing.secret_shown"]
    );
    let mut owner = Browser::member(&fixture.service, &fixture.customer, Role::Owner).await;
    let organization = fixture.customer.organization;
    let log = owner
        .get(&format!("/dashboard/organization/{organization}/audit"))
        .await;
    assert!(log.html.contains("signing.secret_shown") && !log.html.contains("whsec_"));
}

#[tokio::test]
async fn a_second_rotation_is_confirmed_while_the_first_lasts() {
    let mut fixture = SettingsFixture::new().await;
    assert_eq!(fixture.post("rotate", &[("overlap", "24h")]).await.0, 422);
    assert_eq!(fixture.post("secret", &[]).await.0, 422);
    fixture.post("enable", &[]).await;
    assert_eq!(fixture.post("rotate", &[("overlap", "2h")]).await.0, 422);
    let (_, html) = fixture.post("rotate", &[("overlap", "24h")]).await;
    assert!(html.contains(&fixture.secret(2)));
    assert_eq!(fixture.post("rotate", &[("overlap", "0")]).await.0, 422);
    let confirmed = [("overlap", "1h"), ("replace", "yes")];
    let (_, html) = fixture.post("rotate", &confirmed).await;
    assert!(html.contains(&fixture.secret(3)));
    assert_eq!(fixture.post("end-previous", &[]).await.0, 303);
    assert_eq!(fixture.post("disable", &[]).await.0, 303);
    let (shard, project) = (&fixture.service.north, fixture.customer.project);
    let settings = callback_settings::find(shard, project).await.unwrap();
    assert!(!settings.is_signed && settings.previous.is_none());
    assert_eq!(
        fixture.audit_actions().await,
        [
            "signing.enabled",
            "signing.rotated",
            "signing.rotated",
            "signing.previous_ended",
            "signing.disabled"
        ]
    );
}

#[tokio::test]
async fn metadata_is_an_option() {
    let mut fixture = SettingsFixture::new().await;
    for (include, action) in [("true", "enabled"), ("false", "disabled")] {
        let (status, _) = fixture.post("metadata", &[("include", include)]).await;
        assert_eq!(status, 303);
        let (shard, project) = (&fixture.service.north, fixture.customer.project);
        let settings = callback_settings::find(shard, project).await.unwrap();
        assert_eq!(settings.includes_metadata.to_string(), include);
        let last = fixture.audit_actions().await.pop().unwrap();
        assert_eq!(last, format!("callback_metadata.{action}"));
    }
}
