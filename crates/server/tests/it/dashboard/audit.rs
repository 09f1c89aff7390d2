//! The audit log over HTTP: tokens, cursors, and what must never be in it.

use axum::body::Body;
use axum::extract::Request;
use domain::person::Role;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::dashboard::browser::{Browser, PUBLIC_URL, project_slug};
use crate::support::TestService;
use crate::support::http::chat_request;

/// The status, the media type and the body.
async fn fetch(service: &TestService, path: &str, token: &str) -> (u16, String, String) {
    let request = Request::get(path).header("X-API-Key", token);
    let request = request.body(Body::empty()).unwrap();
    let response = service.router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let media_type = response.headers().get(CONTENT_TYPE).unwrap();
    let media_type = media_type.to_str().unwrap().to_owned();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (
        status,
        media_type,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

async fn read_lines(service: &TestService, path: &str, token: &str) -> Vec<Value> {
    let (status, media_type, body) = fetch(service, path, token).await;
    assert_eq!(
        (status, media_type.as_str()),
        (200, "application/x-ndjson"),
        "{body}"
    );
    assert!(body.is_empty() || body.ends_with('\n'), "{body}");
    body.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The text between two others.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = page.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

#[tokio::test]
async fn an_owner_creates_a_token_that_reads_the_log_of_the_organization() {
    let service = TestService::new().await;
    let (customer, _other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let audit = format!("/dashboard/organization/{}/audit", customer.organization);
    let tokens = format!("{audit}/tokens");
    let page = owner.post_form(&tokens, &[("name", "SIEM")]).await.html;
    let token = between(&page, "<code id=\"token\">", "<").to_owned();

    let lines = read_lines(&service, "/audit", &token).await;
    let organization = customer.organization.to_string();
    assert!(
        lines
            .iter()
            .all(|line| line["organization_id"] == organization)
    );
    let actions: Vec<_> = lines.iter().map(|line| &line["action"]).collect();
    assert_eq!(
        actions,
        [
            "organization.created",
            "project.created",
            "key.created",
            "member.added",
            "audit_token.created"
        ]
    );
    let second = format!("/audit?after={}&limit=1", lines[0]["id"]);
    assert_eq!(read_lines(&service, &second, &token).await, lines[1..2]);
    let newer = format!("/audit?after={}", lines[4]["id"]);
    assert_eq!(
        read_lines(&service, &newer, &token).await,
        Vec::<Value>::new()
    );
    let (status, _, body) = fetch(&service, "/audit?limit=1001", &token).await;
    assert_eq!(status, 422, "{body}");

    let page = owner.get(&audit).await.html;
    assert!(page.contains("SIEM") && !page.contains(&token), "{page}");
    let id = between(&page, "name=\"token\" value=\"", "\"").to_owned();
    let revoked = owner
        .post_form(&format!("{tokens}/revoke"), &[("token", &id)])
        .await;
    assert_eq!(revoked.location, audit);
    let (status, _, body) = fetch(&service, "/audit", &token).await;
    assert_eq!((status, &*body), (401, r#"{"detail":"Invalid API key."}"#));
}

#[tokio::test]
async fn the_log_takes_audit_tokens_and_other_routes_take_none() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let (status, _, body) = fetch(&service, "/audit", &customer.key).await;
    assert_eq!(
        (status, &*body),
        (401, r#"{"detail":"Invalid API key format."}"#)
    );
    let (status, _, body) = fetch(&service, "/audit", "").await;
    assert_eq!(status, 401);
    assert!(body.contains("API key required"), "{body}");
    let token = service.create_audit_token(None).await;
    let (status, _, _) = fetch(&service, "/files", &token).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn a_token_of_the_service_reads_entries_of_all_organizations_and_of_none() {
    let service = TestService::new().await;
    let (one, two) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let mut browser = Browser::new(&service);
    let form = "email=ada%40example.com&password=guess+guess+guess".to_owned();
    let request = Request::post("/dashboard/sign-in")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(USER_AGENT, "curl/8");
    assert_eq!(browser.request(request, form).await.status, 401);
    let token = service.create_audit_token(None).await;
    let lines = read_lines(&service, "/audit", &token).await;
    for customer in [one, two] {
        let organization = customer.organization.to_string();
        assert!(
            lines
                .iter()
                .any(|line| line["organization_id"] == organization)
        );
    }
    let mut lines = lines.iter();
    let refused = lines.find(|line| line["action"] == "session.refused");
    let refused = refused.unwrap();
    assert_eq!(refused["outcome"], "failure");
    assert_eq!(refused["actor"], "not signed in");
    assert_eq!(refused["target"], "unknown address");
    assert_eq!(refused["detail"], "wrong password");
    assert_eq!(refused["organization_id"], Value::Null);
    assert_eq!(refused["user_agent"], "curl/8");
}

#[tokio::test]
async fn no_entry_holds_a_prompt_or_a_secret() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = chat_request("the secret prompt", None);
    let cargo = service.load(&customer, &cargo).await;
    let slug = project_slug(&service, &customer).await;
    let project = format!("/dashboard/project/{slug}");
    let organization = format!("/dashboard/organization/{}", customer.organization);
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let mut operator = Browser::operator(&service).await;

    let load = format!("{project}/cargo/new");
    let form = [
        ("model", "the secret prompt in the wrong field"),
        ("max_tokens", "64"),
        ("message", "the secret prompt"),
    ];
    assert_eq!(owner.post_form(&load, &form).await.status, 422);
    let raw = [("raw", "{\"the secret prompt\": 1}")];
    assert_eq!(owner.post_form(&load, &raw).await.status, 422);
    for path in ["", "/input.json"] {
        let path = format!("{project}/cargo/{cargo}{path}");
        assert_eq!(operator.get(&path).await.status, 200);
    }
    let keys = format!("{project}/keys");
    let page = owner.post_form(&keys, &[("name", "robot")]).await.html;
    let key = between(&page, "<code id=\"key\">", "<").to_owned();
    let tokens = format!("{organization}/audit/tokens");
    let page = owner.post_form(&tokens, &[("name", "SIEM")]).await.html;
    let token = between(&page, "<code id=\"token\">", "<").to_owned();
    let invite = [("email", "bob@people.example"), ("role", "viewer")];
    let members = format!("{organization}/members/invite");
    let page = owner.post_form(&members, &invite).await.html;
    let link = format!("{PUBLIC_URL}/dashboard/invitation?pass=");
    let link = between(&page, &link, "<").to_owned();
    let signing = format!("{project}/settings/callbacks/enable");
    let page = owner.post_form(&signing, &[]).await.html;
    let secret = between(&page, "whsec_", "<").to_owned();
    let wrong = [("email", "my password"), ("password", "my password")];
    owner.post_form("/dashboard/sign-in", &wrong).await;

    let service_token = service.create_audit_token(None).await;
    let (status, _, log) = fetch(&service, "/audit", &service_token).await;
    assert_eq!(status, 200);
    assert!(log.contains("cargo.read") && log.contains("cargo.input_exported"));
    for hidden in [
        "the secret prompt",
        "my password",
        &key,
        &token,
        &service_token,
        &link,
        &secret,
    ] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}
