//! The routes of groups: creating, listing, sealing, progress and results.

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, MOCK_DELAY, TestService};

mod callback;
mod results;
mod retention;

/// A response whose body is not JSON.
struct RawResponse {
    status: u16,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl TestService {
    async fn post_to_group(&self, customer: &Customer, path: &str, body: &Value) -> AppResponse {
        let request = Request::post(path).header("X-API-Key", &customer.key);
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn create_named_group(&self, customer: &Customer, name: &str) -> String {
        let answer = self
            .post_to_group(customer, "/groups", &json!({"name": name}))
            .await;
        assert_eq!(answer.status, 201, "{answer}");
        answer.body["group_id"].as_str().unwrap().to_owned()
    }

    /// Loads one chat for each text, in this order, with its place as the custom id.
    async fn load_group_members(&self, customer: &Customer, group: &str, texts: &[&str]) {
        for (place, text) in texts.iter().enumerate() {
            let mut body = chat_request(text, None);
            body["group_id"] = json!(group);
            body["custom_id"] = json!(format!("item-{place}"));
            self.load(customer, &body).await;
        }
    }

    async fn complete_all_cargo(&mut self) {
        self.run_until_idle().await;
        self.clock.advance(MOCK_DELAY);
        self.run_until_idle().await;
    }

    async fn fetch_raw(&self, customer: &Customer, path: &str, accepted: &str) -> RawResponse {
        let request = Request::get(path)
            .header("X-API-Key", &customer.key)
            .header("Accept-Encoding", accepted);
        let request = request.body(Body::empty()).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        RawResponse {
            status,
            headers,
            bytes: bytes.to_vec(),
        }
    }
}

#[tokio::test]
async fn a_name_is_the_identity_of_a_group() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"name": "run:1", "metadata": {"z": 1, "a": 2}});
    let first = service.post_to_group(&customer, "/groups", &body).await;
    assert_eq!(first.status, 201, "{first}");
    assert_eq!(first.body["existing"], false);
    assert_eq!(first.body["status"], "open");
    assert_eq!(first.body["metadata"], json!({"z": 1, "a": 2}));
    assert_eq!(first.body["counts"]["total"], 0);
    let again = service.post_to_group(&customer, "/groups", &body).await;
    assert_eq!(again.status, 200, "{again}");
    assert_eq!(again.body["existing"], true);
    assert_eq!(again.body["group_id"], first.body["group_id"]);
    // Another project has its own names.
    let sibling = service.create_sibling_project(&customer).await;
    let other = service.post_to_group(&sibling, "/groups", &body).await;
    assert_eq!(other.status, 201);
    // Without a name, the id is the name.
    let unnamed = service
        .post_to_group(&customer, "/groups", &json!({}))
        .await;
    assert_eq!(unnamed.body["name"], unnamed.body["group_id"]);
    let wrong = service
        .post_to_group(&customer, "/groups", &json!({"name": "a b"}))
        .await;
    assert_eq!(wrong.status, 422);
    assert_eq!(wrong.body["detail"][0]["loc"], json!(["body", "name"]));
}

#[tokio::test]
async fn a_group_of_another_project_is_not_found() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "mine").await;
    let sibling = service.create_sibling_project(&customer).await;
    for path in ["", "/results", "/results?order=completion"] {
        let answer = service
            .get(&sibling, &format!("/groups/{group}{path}"))
            .await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.body["detail"]["error"], "group_not_found");
    }
    for path in ["seal", "cancel"] {
        let path = format!("/groups/{group}/{path}");
        let answer = service.post_to_group(&sibling, &path, &json!({})).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    let nonsense = service.get(&customer, "/groups/grp_x").await;
    assert_eq!(nonsense.status, 404);
}

#[tokio::test]
async fn groups_are_listed_newest_first_in_pages() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for name in ["run-1", "run-2", "other", "run-3"] {
        service.create_named_group(&customer, name).await;
        service.clock.advance(std::time::Duration::from_secs(1));
    }
    let names = |answer: &AppResponse| -> Vec<String> {
        let groups = answer.body["groups"].as_array().unwrap().iter();
        groups
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let path = "/groups?name_prefix=run&limit=2";
    let first = service.get(&customer, path).await;
    assert_eq!(names(&first), ["run-3", "run-2"]);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let second = service
        .get(&customer, &format!("{path}&cursor={cursor}"))
        .await;
    assert_eq!(names(&second), ["run-1"]);
    assert_eq!(second.body["next_cursor"], Value::Null);
    let sealed = service.get(&customer, "/groups?status=sealed").await;
    assert!(names(&sealed).is_empty());
    let wrong = service.get(&customer, "/groups?limit=0&status=x").await;
    assert_eq!(wrong.status, 422);
    assert_eq!(wrong.body["detail"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_sealed_group_takes_no_new_cargo_and_is_completed_with_its_last() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one", "[mock:fail=storm]"])
        .await;
    let seal = format!("/groups/{group}/seal");
    let wrong = service
        .post_to_group(&customer, &seal, &json!({"total": 3}))
        .await;
    assert_eq!(wrong.status, 409);
    assert_eq!(wrong.body["detail"]["error"], "group_total_mismatch");
    assert_eq!(wrong.body["detail"]["given_total"], 3);
    assert_eq!(wrong.body["detail"]["total"], 2);
    for _ in 0..2 {
        let sealed = service
            .post_to_group(&customer, &seal, &json!({"total": 2}))
            .await;
        assert_eq!(sealed.status, 200, "{sealed}");
        assert_eq!(sealed.body["status"], "sealed");
    }
    let mut late = chat_request("late", None);
    late["group_id"] = json!(group);
    let late = service.post_load(&customer, &late).await;
    assert_eq!(late.status, 409);
    assert_eq!(late.body["detail"]["error"], "group_sealed");
    service.complete_all_cargo().await;
    let record = service
        .get(&customer, &format!("/groups/{group}"))
        .await
        .body;
    assert_eq!(record["status"], "completed");
    let counts = json!({"total": 2, "unfinished": 0, "succeeded": 1, "failed": 1, "cancelled": 0});
    assert_eq!(record["counts"], counts);
    assert_eq!(record["failures"][0]["count"], 1);
}

#[tokio::test]
async fn an_unfinished_group_shows_when_it_is_expected_to_end() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    let path = format!("/groups/{group}");
    let empty = service.get(&customer, &path).await.body;
    assert_eq!(empty.get("expected_at"), None);
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    let unknown = service.get(&customer, &path).await.body;
    assert_eq!(unknown.get("expected_at"), None);
    let measured = sqlx::raw_sql("update shard.lane set turnaround_seconds = 600");
    measured.execute(&service.north.pool).await.unwrap();
    let expected = domain::time::to_wire(service.now() + chrono::TimeDelta::minutes(10));
    let record = service.get(&customer, &path).await.body;
    assert_eq!(record["expected_at"], json!(expected));
    service.complete_all_cargo().await;
    let completed = service.get(&customer, &path).await.body;
    assert_eq!(completed.get("expected_at"), None);
}

#[tokio::test]
async fn a_cancelled_group_is_sealed() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    let path = format!("/groups/{group}/cancel");
    let answer = service.post_to_group(&customer, &path, &json!({})).await;
    assert_eq!(answer.status, 202, "{answer}");
    assert_eq!(answer.body["status"], "cancelling");
    assert!(answer.body["sealed_at"].is_string());
    // A group without cargo has nothing to cancel.
    let empty = service.create_named_group(&customer, "empty").await;
    let path = format!("/groups/{empty}/cancel");
    let answer = service.post_to_group(&customer, &path, &json!({})).await;
    assert_eq!(answer.body["status"], "cancelled");
}

#[tokio::test]
async fn waiting_for_a_completed_group_takes_no_time() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    let seal = format!("/groups/{group}/seal");
    service.post_to_group(&customer, &seal, &json!({})).await;
    service.complete_all_cargo().await;
    let path = format!("/groups/{group}?wait=60");
    let record = service.get(&customer, &path).await;
    assert_eq!(record.body["status"], "completed");
    let path = format!("/groups/{group}?wait=61");
    let wrong = service.get(&customer, &path).await;
    assert_eq!(wrong.status, 422);
}

#[tokio::test]
async fn a_waiting_request_is_answered_when_the_group_is_completed() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    let seal = format!("/groups/{group}/seal");
    service.post_to_group(&customer, &seal, &json!({})).await;
    let request = Request::get(format!("/groups/{group}?wait=50"));
    let request = request.header("X-API-Key", &customer.key);
    let request = request.body(Body::empty()).unwrap();
    let waiting = tokio::spawn(crate::support::http::send(service.router.clone(), request));
    service.complete_all_cargo().await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer.body["status"], "completed");
}
