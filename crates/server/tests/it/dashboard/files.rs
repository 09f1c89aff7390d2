//! Files on pages: uploaded through the API, shown, changed and deleted.

use axum::extract::Request;
use domain::person::Role;
use domain::secret_token::SecretToken;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use store::control::audit_log;
use test_support::sample_files;

use crate::dashboard::browser::{Browser, PageResponse, project_path};
use crate::support::TestService;
use crate::support::files::{create_file_request, upload};

/// Posts JSON as the script of a page does.
async fn post_json(browser: &mut Browser, path: &str, body: &Value) -> PageResponse {
    let csrf_token = browser
        .token
        .as_ref()
        .map(SecretToken::csrf_token)
        .unwrap_or_default();
    let request = Request::post(path)
        .header(CONTENT_TYPE, "application/json")
        .header("x-csrf-token", csrf_token)
        .header("sec-fetch-site", "same-origin");
    browser.request(request, body.to_string()).await
}

fn parse_json(seen: &PageResponse) -> Value {
    serde_json::from_str(&seen.html).unwrap()
}

#[tokio::test]
async fn a_page_uploads_what_a_caller_could() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    let project = project_path(&service, &customer, "").await;
    let files = format!("{project}/files");
    assert!(dev.get(&files).await.html.contains("No files yet"));

    let bytes = sample_files::text(1000);
    let mut declaration = create_file_request(&bytes, "text/plain");
    declaration["filename"] = json!("<b>notes</b>.txt");
    let made = post_json(&mut dev, &format!("{project}/api/files"), &declaration).await;
    assert_eq!(made.status, 201, "{}", made.html);
    let session = parse_json(&made);
    let id = session["id"].as_str().unwrap();
    let again = post_json(
        &mut dev,
        &format!("{project}/api/files/{id}/parts"),
        &json!({}),
    )
    .await;
    assert_eq!(parse_json(&again)["upload"]["type"], "post");
    upload(&session["upload"], &bytes).await;
    let answer = service.complete_upload(&customer, id, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let record = dev.get(&format!("{project}/api/files/{id}")).await;
    assert_eq!(parse_json(&record)["status"], "ready");
    let late = post_json(
        &mut dev,
        &format!("{project}/api/files/{id}/complete"),
        &json!({}),
    )
    .await;
    assert_eq!(
        (late.status, &parse_json(&late)["error"]),
        (409, &json!("invalid_state"))
    );

    let list = dev.get(&files).await.html;
    assert!(list.contains("&#60;b&#62;notes") && !list.contains("<b>notes"));
    assert!(
        dev.get(&format!("{files}?status=failed"))
            .await
            .html
            .contains("No files match the filters")
    );
    let one = dev.get(&format!("{files}/{id}")).await.html;
    assert!(one.contains("No malware found"), "{one}");
    let content = dev.get(&format!("{files}/{id}/content")).await;
    assert_eq!(content.status, 303);
    assert!(content.location.starts_with("http"), "{}", content.location);
    let mut operator = Browser::operator(&service).await;
    assert_eq!(operator.get(&format!("{files}/{id}")).await.status, 200);
    // Entries have the id of the file. Its name is nowhere in the log.
    let log = audit_log::list(&service.control, Some(customer.organization), None, 3).await;
    let log = log.unwrap().into_iter();
    let log: Vec<_> = log
        .map(|it| format!("{} {}{}", it.action, it.subject, it.detail))
        .collect();
    let actions = ["file.read", "file.exported", "file.upload_begun"];
    assert_eq!(log, actions.map(|action| format!("{action} {id}")));

    let changed = dev
        .post_form(&format!("{files}/{id}/change"), &[("pinned", "true")])
        .await;
    assert_eq!(changed.status, 303);
    assert_eq!(service.get_file(&customer, id).await["pinned"], true);
    let short = dev
        .post_form(&format!("{files}/{id}/change"), &[("ttl_seconds", "5")])
        .await;
    assert_eq!(short.status, 422);
    assert!(short.html.contains("ttl_seconds"), "{}", short.html);
    let deleted = dev.post_form(&format!("{files}/{id}/delete"), &[]).await;
    assert_eq!(deleted.status, 303);
    assert_eq!(service.get_file(&customer, id).await["status"], "expired");
    let gone = dev.get(&format!("{files}/{id}/content")).await;
    assert_eq!(gone.status, 409);
}

#[tokio::test]
async fn a_deactivated_project_takes_nothing_from_pages_either() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let project = project_path(&service, &customer, "").await;
    owner
        .post_form(&format!("{project}/settings/deactivate"), &[])
        .await;
    let declaration = create_file_request(&sample_files::text(10), "text/plain");
    let made = post_json(&mut owner, &format!("{project}/api/files"), &declaration).await;
    assert_eq!(
        (made.status, &parse_json(&made)["error"]),
        (403, &json!("project_inactive"))
    );
}

#[tokio::test]
async fn a_viewer_sees_files_and_uploads_nothing() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let project = project_path(&service, &customer, "").await;
    let seen = viewer.get(&format!("{project}/files")).await;
    assert_eq!(seen.status, 200);
    assert!(!seen.html.contains("upload.js"));
    let made = post_json(&mut viewer, &format!("{project}/api/files"), &json!({})).await;
    assert_eq!(made.status, 403);
}
