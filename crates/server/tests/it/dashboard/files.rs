//! Files on pages: uploaded through the API that pages ask, shown, changed and deleted.

use axum::extract::Request;
use domain::person::Role;
use domain::token::Token;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::dashboard::browser::{Browser, Seen, slug};
use crate::files_scan::samples;
use crate::support::Service;
use crate::support::files::{declare, upload};

/// As a script of our pages posts.
async fn post(browser: &mut Browser, path: &str, body: &Value) -> Seen {
    let seal = browser.token.as_ref().map(Token::seal).unwrap_or_default();
    let request = Request::post(path)
        .header(CONTENT_TYPE, "application/json")
        .header("x-form-seal", seal)
        .header("sec-fetch-site", "same-origin");
    browser.ask(request, body.to_string()).await
}

fn read(seen: &Seen) -> Value {
    serde_json::from_str(&seen.html).unwrap()
}

#[tokio::test]
async fn a_page_uploads_what_a_caller_could() {
    let mut service = Service::with_files().await;
    let customer = service.customer().await;
    let mut dev = Browser::of(&service, &customer, Role::Developer).await;
    let project = format!("/dashboard/project/{}", slug(&service, &customer).await);
    let files = format!("{project}/files");
    assert!(dev.see(&files).await.html.contains("No file yet"));

    let bytes = samples::text(1000);
    let mut wanted = declare(&bytes, "text/plain");
    wanted["filename"] = json!("<b>notes</b>.txt");
    let made = post(&mut dev, &format!("{project}/api/files"), &wanted).await;
    assert_eq!(made.status, 201, "{}", made.html);
    let session = read(&made);
    let id = session["id"].as_str().unwrap();
    let again = post(
        &mut dev,
        &format!("{project}/api/files/{id}/parts"),
        &json!({}),
    )
    .await;
    assert_eq!(read(&again)["upload"]["type"], "post");
    upload(&session["upload"], &bytes).await;
    let answer = service.complete(&customer, id, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let record = dev.see(&format!("{project}/api/files/{id}")).await;
    assert_eq!(read(&record)["status"], "ready");
    let late = post(
        &mut dev,
        &format!("{project}/api/files/{id}/complete"),
        &json!({}),
    )
    .await;
    assert_eq!(
        (late.status, &read(&late)["error"]),
        (409, &json!("invalid_state"))
    );

    let list = dev.see(&files).await.html;
    assert!(list.contains("&#60;b&#62;notes") && !list.contains("<b>notes"));
    assert!(
        dev.see(&format!("{files}?status=failed"))
            .await
            .html
            .contains("No file is like this")
    );
    let one = dev.see(&format!("{files}/{id}")).await.html;
    assert!(one.contains("The malware scanner found nothing"), "{one}");
    let content = dev.see(&format!("{files}/{id}/content")).await;
    assert_eq!(content.status, 303);
    assert!(content.to.starts_with("http"), "{}", content.to);

    let changed = dev
        .send(&format!("{files}/{id}/change"), &[("pinned", "true")])
        .await;
    assert_eq!(changed.status, 303);
    assert_eq!(service.file(&customer, id).await["pinned"], true);
    let short = dev
        .send(&format!("{files}/{id}/change"), &[("ttl_seconds", "5")])
        .await;
    assert_eq!(short.status, 422);
    assert!(short.html.contains("ttl_seconds"), "{}", short.html);
    let deleted = dev.send(&format!("{files}/{id}/delete"), &[]).await;
    assert_eq!(deleted.status, 303);
    assert_eq!(service.file(&customer, id).await["status"], "expired");
    let gone = dev.see(&format!("{files}/{id}/content")).await;
    assert_eq!(gone.status, 409);
}

#[tokio::test]
async fn a_deactivated_project_takes_nothing_from_pages_either() {
    let service = Service::with_files().await;
    let customer = service.customer().await;
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let project = format!("/dashboard/project/{}", slug(&service, &customer).await);
    owner
        .send(&format!("{project}/settings/deactivate"), &[])
        .await;
    let wanted = declare(&samples::text(10), "text/plain");
    let made = post(&mut owner, &format!("{project}/api/files"), &wanted).await;
    assert_eq!(
        (made.status, &read(&made)["error"]),
        (403, &json!("project_inactive"))
    );
}

#[tokio::test]
async fn a_viewer_looks_and_uploads_nothing() {
    let service = Service::with_files().await;
    let customer = service.customer().await;
    let mut viewer = Browser::of(&service, &customer, Role::Viewer).await;
    let project = format!("/dashboard/project/{}", slug(&service, &customer).await);
    let seen = viewer.see(&format!("{project}/files")).await;
    assert_eq!(seen.status, 200);
    assert!(!seen.html.contains("upload.js"));
    let made = post(&mut viewer, &format!("{project}/api/files"), &json!({})).await;
    assert_eq!(made.status, 403);
}
