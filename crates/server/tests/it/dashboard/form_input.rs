//! Input that no browser sends: the dashboard refuses it, and never answers 500.

use domain::person::Role;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::TestService;

#[tokio::test]
async fn a_nul_character_is_refused_wherever_a_text_is_stored_or_compared() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let base = project_path(&service, &customer, "").await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let organization = [("name", "a\0b"), ("plan", "pro")];
    let mut operator = Browser::operator(&service).await;
    let seen = [
        operator
            .post_form("/dashboard/organizations", &organization)
            .await,
        owner
            .post_form(&format!("{base}/keys"), &[("name", "a\0b")])
            .await,
        owner
            .get(&format!("{base}/cargo?status=callback_failed&host=%00"))
            .await,
        owner.get(&format!("{base}/callbacks?resend=%00")).await,
    ];
    for page in seen {
        assert_eq!(page.status, 422, "{}", page.html);
        assert!(page.html.contains("NUL character"), "{}", page.html);
    }
}

#[tokio::test]
async fn a_time_far_from_now_does_not_overflow() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = project_path(&service, &customer, "/cargo").await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    for year in ["-262143", "0000", "9999", "%2B262142"] {
        let time = format!("{year}-01-01T00:00");
        let query = format!("from={time}&to={time}&model=svc-mock");
        let page = viewer.get(&format!("{cargo}?{query}")).await;
        assert_eq!(page.status, 200, "{year}");
    }
}
