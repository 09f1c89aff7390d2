//! Groups on pages: progress, results, downloads, and cancelling groups and cargo.

use axum::body::Body;
use axum::extract::Request;
use domain::person::Role;
use serde_json::{Value, json};
use store::shard::usage;
use workers::stage::Stage as _;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, MOCK_DELAY, TestService};

const CANCELLED_CHIP: &str = "<span class=\"chip warm\">cancelled</span>";

async fn post(service: &TestService, by: &Customer, path: &str, body: &Value) -> AppResponse {
    let request = Request::post(path).header("X-API-Key", &by.key);
    let request = request.body(Body::from(body.to_string())).unwrap();
    service.send(request).await
}

async fn create_group(service: &TestService, customer: &Customer, name: &str) -> String {
    let body = json!({"name": name, "metadata": {"<i>month</i>": 11}});
    let created = post(service, customer, "/groups", &body).await;
    assert_eq!(created.status, 201, "{created}");
    created.body["group_id"].as_str().unwrap().to_owned()
}

/// Loads one chat for each text, with the text as its custom id.
async fn load_members(
    service: &TestService,
    customer: &Customer,
    group: &str,
    texts: &[&str],
) -> Vec<String> {
    let mut cargo = Vec::new();
    for text in texts {
        let mut body = chat_request(text, None);
        body["group_id"] = json!(group);
        body["custom_id"] = json!(text);
        cargo.push(service.load(customer, &body).await);
    }
    cargo
}

async fn sweep(service: &mut TestService) {
    let now = service.now();
    service.worker_sets[0].sweep.step(now).await.unwrap();
    while usage::fold(&service.north, 0, 1000).await.unwrap() > 0 {}
}

async fn read_audit_log(service: &TestService, customer: &Customer) -> String {
    let mut owner = Browser::member(service, customer, Role::Owner).await;
    let log = format!("/dashboard/organization/{}/audit", customer.organization);
    owner.get(&log).await.html
}

#[tokio::test]
async fn a_group_shows_its_progress_and_its_results_are_downloaded() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let base = project_path(&service, &customer, "").await;
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    let list = format!("{base}/groups");
    assert!(viewer.get(&list).await.html.contains("No groups yet"));

    let group = create_group(&service, &customer, "run:1").await;
    let texts = ["<b>one</b>", "two", "[mock:fail=storm 7]"];
    let cargo = load_members(&service, &customer, &group, &texts).await;
    let page = format!("{list}/{group}");
    let seen = viewer.get(&page).await;
    assert_eq!(seen.status, 200);
    assert!(seen.html.contains("0 of 3 cargo completed") && seen.html.contains("data-live-page"));
    assert!(
        !seen.html.contains("Cancel group"),
        "viewers cancel nothing"
    );

    let seal = format!("/groups/{group}/seal");
    post(&service, &customer, &seal, &json!({"total": 3})).await;
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let seen = viewer.get(&list).await.html;
    assert!(seen.contains(">run:1</a>") && seen.contains("2 succeeded, 1 failed"));
    let seen = viewer.get(&page).await.html;
    assert!(seen.contains("3 of 3 cargo completed") && !seen.contains("data-live-page"));
    assert!(seen.contains("&#60;b&#62;one") && seen.contains("&#60;i&#62;month"));
    assert!(!seen.contains("<b>one") && !seen.contains("<i>month"));
    // The failed one is also the example of its failure.
    for (member, links) in [(&cargo[0], 1), (&cargo[2], 2)] {
        assert_eq!(seen.matches(&format!("/cargo/{member}\"")).count(), links);
    }
    let older = viewer.get(&format!("{page}?before=2")).await.html;
    assert_eq!(older.matches("/cargo/crg_").count(), 2);

    let member = viewer.get(&format!("{base}/cargo/{}", cargo[0])).await.html;
    assert!(member.contains(&format!("{page}\">run:1</a>")) && member.contains("&#60;b&#62;one"));

    let results = viewer.get(&format!("{page}/results.jsonl")).await;
    assert_eq!(results.headers["content-type"], "application/x-ndjson");
    let disposition = &results.headers["content-disposition"];
    assert_eq!(disposition, "attachment; filename=\"run-1.jsonl\"");
    let lines = results.html.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = lines.iter().map(|line| &line["custom_id"]).collect();
    assert_eq!(names, texts);
    let log = read_audit_log(&service, &customer).await;
    assert!(log.contains("group.results_exported"));
}

#[tokio::test]
async fn a_cancelled_group_is_shown_apart_from_failures() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let base = project_path(&service, &customer, "").await;
    let failed = service
        .load(&customer, &chat_request("[mock:fail=storm]", None))
        .await;
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;

    let group = create_group(&service, &customer, "unwanted").await;
    let cargo = load_members(&service, &customer, &group, &["one", "two"]).await;
    let page = format!("{base}/groups/{group}");
    let cancel = format!("{page}/cancel");
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    assert_eq!(viewer.post_form(&cancel, &[]).await.status, 403);
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    assert!(dev.get(&page).await.html.contains("Cancel group"));
    let sent = dev.post_form(&cancel, &[]).await;
    assert_eq!((sent.status, &sent.location), (303, &page));
    let seen = dev.get(&page).await.html;
    assert!(seen.contains(">cancelling</span>") && !seen.contains("Cancel group"));

    sweep(&mut service).await;
    let seen = dev.get(&page).await.html;
    assert!(seen.contains("cancelled 2") && seen.contains("failed 0"));
    // The group and its two results.
    assert_eq!(seen.matches(CANCELLED_CHIP).count(), 3);
    let list = format!("{base}/cargo");
    for (query, shown) in [
        ("", vec![&failed, &cargo[0], &cargo[1]]),
        ("?status=failed", vec![&failed]),
        ("?status=cancelled", vec![&cargo[0], &cargo[1]]),
    ] {
        let html = dev.get(&format!("{list}{query}")).await.html;
        assert_eq!(html.matches("title=\"crg_").count(), shown.len(), "{query}");
        assert!(shown.iter().all(|id| html.contains(id.as_str())), "{query}");
        let chips = html.matches(CANCELLED_CHIP).count();
        assert_eq!(chips, shown.len() - usize::from(shown.contains(&&failed)));
        assert!(html.contains("cancelled <small>2</small>") && html.contains("failed <small>1<"));
    }
    let overview = dev.get(&base).await.html;
    assert!(overview.contains(&failed) && !overview.contains(&cargo[0]));
    let log = read_audit_log(&service, &customer).await;
    assert!(log.contains("group.cancel_requested") && log.contains("unwanted"));
}

#[tokio::test]
async fn a_cargo_is_cancelled_from_its_page() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("No.", None)).await;
    let page = project_path(&service, &customer, &format!("/cargo/{cargo}")).await;
    let cancel = format!("{page}/cancel");
    let mut viewer = Browser::member(&service, &customer, Role::Viewer).await;
    assert!(!viewer.get(&page).await.html.contains("Cancel cargo"));
    assert_eq!(viewer.post_form(&cancel, &[]).await.status, 403);
    let mut dev = Browser::member(&service, &customer, Role::Developer).await;
    assert!(dev.get(&page).await.html.contains("Cancel cargo"));
    // The second request finds it cancelled.
    for _ in 0..2 {
        let sent = dev.post_form(&cancel, &[]).await;
        assert_eq!((sent.status, &sent.location), (303, &page));
    }
    let seen = dev.get(&page).await.html;
    assert!(seen.contains(CANCELLED_CHIP) && seen.contains("Nothing was charged"));
    assert!(!seen.contains("Cancel cargo") && !seen.contains("chip bad"));
    let log = read_audit_log(&service, &customer).await;
    assert!(log.contains("cargo.cancel_requested"));
}

#[tokio::test]
async fn another_projects_group_is_not_found() {
    let service = TestService::new().await;
    let ours = service.create_customer().await;
    let theirs = service.create_sibling_project(&ours).await;
    let group = create_group(&service, &theirs, "secret-run").await;
    let cargo = load_members(&service, &theirs, &group, &["secret"]).await;
    let list = project_path(&service, &ours, "/groups").await;
    let mut owner = Browser::member(&service, &ours, Role::Owner).await;
    assert!(!owner.get(&list).await.html.contains("secret-run"));
    for path in ["", "/results.jsonl"] {
        let seen = owner.get(&format!("{list}/{group}{path}")).await;
        assert_eq!(seen.status, 404, "{path}");
    }
    let cancel = format!("{list}/{group}/cancel");
    assert_eq!(owner.post_form(&cancel, &[]).await.status, 404);
    let cargo_list = project_path(&service, &ours, "/cargo").await;
    let cancel = format!("{cargo_list}/{}/cancel", cargo[0]);
    assert_eq!(owner.post_form(&cancel, &[]).await.status, 404);
    assert_eq!(service.status(&theirs, &cargo[0]).await, "PENDING");
}
