//! The retention of a project: owners choose it, and pages say what was erased.

use domain::person::Role;
use domain::retention::ProjectRetention;
use store::shard::retention;
use test_support::callback_receiver::CallbackReceiver;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

#[tokio::test]
async fn an_owner_chooses_the_retention_of_a_project() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let settings = project_path(&service, &customer, "/settings").await;
    let path = format!("{settings}/retention");
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    for refused in ["0", "31", "a week", ""] {
        let seen = owner.post_form(&path, &[("retention", refused)]).await;
        assert_eq!(seen.status, 422, "{refused}");
    }
    let chosen = [
        ("30", ProjectRetention::Days(30), "30 days"),
        ("zero", ProjectRetention::Zero, "zero retention"),
        (
            "default",
            ProjectRetention::Installation,
            "as this installation keeps cargo",
        ),
    ];
    for (text, expected, shown) in chosen {
        let seen = owner.post_form(&path, &[("retention", text)]).await;
        assert_eq!((seen.status, &seen.location), (303, &settings));
        let stored = retention::find(&service.north, customer.project).await;
        assert_eq!(stored.unwrap(), expected);
        assert!(owner.get(&settings).await.html.contains(shown), "{shown}");
    }
    let details = "select detail from control.audit
                   where action = 'project.retention_changed' order by id";
    let details: Vec<String> = sqlx::query_scalar(details)
        .fetch_all(&service.control.pool)
        .await
        .unwrap();
    assert_eq!(details, ["30", "zero", "default"]);
    let mut developer = Browser::member(&service, &customer, Role::Developer).await;
    let seen = developer.post_form(&path, &[("retention", "zero")]).await;
    assert_eq!(seen.status, 403);
}

#[tokio::test]
async fn the_page_of_an_erased_cargo_says_so_and_offers_no_resend() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .choose_retention(&customer, ProjectRetention::Zero)
        .await;
    let receiver = CallbackReceiver::new().await;
    let body = chat_request("Secret words.", Some(receiver.url()));
    let cargo = service.load(&customer, &body).await;
    let list = project_path(&service, &customer, "/cargo").await;
    let path = format!("{list}/{cargo}");
    let mut developer = Browser::member(&service, &customer, Role::Developer).await;
    assert!(developer.get(&path).await.html.contains("Secret words."));
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let page = developer.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(page.html.contains("by the retention of the project"));
    assert!(!page.html.contains("Secret words.") && !page.html.contains("/resend"));
    let resent = developer.post_form(&format!("{path}/resend"), &[]).await;
    assert_eq!(resent.status, 422);
    assert!(
        resent.html.contains("The answer was erased"),
        "{}",
        resent.html
    );
    for file in ["input.json", "output.json"] {
        let seen = developer.get(&format!("{path}/{file}")).await;
        assert_eq!(seen.status, 404, "{file}");
    }
    let copied = format!("{list}/new?like={cargo}");
    assert_eq!(developer.get(&copied).await.status, 404);
}
