//! Anthropic's Message Batches: what its clients send, and what they expect.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::http::AppResponse;
use crate::support::{Customer, MOCK_DELAY, TestService};

mod key_scopes;
mod limits;
mod retention;
mod unpacking;

const BATCHES: &str = "/anthropic/v1/messages/batches";

impl TestService {
    async fn create_batch(&self, customer: &Customer, body: &Value) -> AppResponse {
        self.create_batch_with(customer, body, &[]).await
    }

    async fn create_batch_with(
        &self,
        customer: &Customer,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> AppResponse {
        let request = Request::post(format!("{BATCHES}?beta=true"))
            .header("x-api-key", &customer.key)
            .header("anthropic-version", "2023-06-01")
            .header("host", "127.0.0.1:8080");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn find_batch(&self, customer: &Customer, id: &str) -> Value {
        let answer = self.get(customer, &format!("{BATCHES}/{id}")).await;
        assert_eq!(answer.status, 200, "{answer}");
        answer.body
    }

    async fn act_on_batch(&self, customer: &Customer, method: &str, path: &str) -> AppResponse {
        let request = Request::builder()
            .method(method)
            .uri(format!("{BATCHES}/{path}"));
        let request = request.header("x-api-key", &customer.key);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// The results as lines, in the order of the response.
    async fn batch_results(&self, customer: &Customer, id: &str) -> Vec<Value> {
        let request = Request::get(format!("{BATCHES}/{id}/results"));
        let request = request.header("x-api-key", &customer.key);
        let request = request.body(Body::empty()).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    async fn unpack(&self) {
        let unpacked = api::unpack_dropins(&self.app).await;
        unpacked.map_err(|error| error.status()).unwrap();
    }

    async fn finish_batches(&mut self) {
        self.unpack().await;
        self.run_until_idle().await;
        self.clock.advance(MOCK_DELAY);
        self.run_until_idle().await;
    }
}

fn item(custom_id: &str, model: &str) -> Value {
    json!({"custom_id": custom_id, "params": {
        "model": model, "max_tokens": 16,
        "messages": [{"role": "user", "content": custom_id}],
    }})
}

fn id_of(answer: &AppResponse) -> String {
    assert_eq!(answer.status, 200, "{answer}");
    answer.body["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_batch_goes_from_create_to_results() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let requests = [
        item("b", "svc-mock"),
        item("a", "failing"),
        item("c", "none"),
    ];
    let created = service
        .create_batch(&customer, &json!({"requests": requests}))
        .await;
    let id = id_of(&created);
    assert!(id.starts_with("msgbatch_"));
    assert!(created.headers.contains_key("request-id"));
    assert_eq!(created.body["type"], "message_batch");
    assert_eq!(created.body["processing_status"], "in_progress");
    assert_eq!(created.body["request_counts"]["processing"], 3);
    assert_eq!(created.body["results_url"], Value::Null);
    let early = service
        .act_on_batch(&customer, "GET", &format!("{id}/results"))
        .await;
    assert_eq!(early.status, 400);
    assert_eq!(early.body["error"]["type"], "invalid_request_error");
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended");
    let counts =
        json!({"processing": 0, "succeeded": 1, "errored": 2, "canceled": 0, "expired": 0});
    assert_eq!(ended["request_counts"], counts);
    let results = service.batch_results(&customer, &id).await;
    let order: Vec<&str> = results
        .iter()
        .filter_map(|it| it["custom_id"].as_str())
        .collect();
    assert_eq!(order, ["b", "a", "c"]);
    let message = &results[0]["result"]["message"];
    assert_eq!(results[0]["result"]["type"], "succeeded");
    assert_eq!(message["stop_sequence"], Value::Null);
    assert_eq!(message["usage"]["service_tier"], "batch");
    assert_eq!(results[1]["result"]["type"], "errored");
    let fault = &results[2]["result"]["error"]["error"];
    assert_eq!(fault["type"], "invalid_request_error");
}

#[tokio::test]
async fn the_address_of_results_has_the_origin_of_the_request() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    let request = Request::get(format!("{BATCHES}/{id}"))
        .header("authorization", format!("Bearer {}", customer.key))
        .header("host", "127.0.0.1:8080");
    let answer = service.send(request.body(Body::empty()).unwrap()).await;
    let expected = format!("http://127.0.0.1:8080{BATCHES}/{id}/results");
    assert_eq!(answer.body["results_url"], expected);
    assert_eq!(answer.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn a_batch_is_a_group_and_its_faults_are_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut streamed = item("s", "svc-mock");
    streamed["params"]["stream"] = json!(true);
    let mut unknown = item("u", "svc-mock");
    unknown["params"]["surprise"] = json!(1);
    let body = json!({"requests": [streamed, unknown, item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    let group = id.replace("msgbatch_", "grp_");
    let record = service.get(&customer, &format!("/groups/{group}")).await;
    assert_eq!(record.body["status"], "completed", "{record}");
    assert_eq!(record.body["counts"]["total"], 3);
    assert_eq!(record.body["counts"]["failed"], 2);
    let results = service.batch_results(&customer, &id).await;
    let message = |place: usize| results[place]["result"]["error"]["error"]["message"].to_string();
    assert!(message(0).contains("params.stream"), "{}", message(0));
    assert!(message(1).contains("params.surprise"), "{}", message(1));
    // Nothing is held or charged for items that were never sent.
    let account = service.read_account(&customer).await;
    assert!(account.held.is_zero());
}

#[tokio::test]
async fn a_wrong_envelope_refuses_the_whole_request() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for (body, place) in [
        (json!({}), "requests"),
        (json!({"requests": []}), "requests"),
        (
            json!({"requests": [{"custom_id": "a b", "params": {}}]}),
            "requests.0.custom_id",
        ),
        (
            json!({"requests": [item("a", "m"), item("a", "m")]}),
            "requests.1.custom_id",
        ),
        (
            json!({"requests": [{"custom_id": "a"}]}),
            "requests.0.params",
        ),
        (
            json!({"requests": [{"custom_id": "a", "params": {"a": vec![0; 100_000]}}]}),
            "requests.0: at most 100000 JSON values",
        ),
        (
            json!({"requests": [item("a", "m")], "webhook": 1}),
            "webhook",
        ),
        (
            json!({"requests": [item("a", "m")], "callback_url": "nowhere"}),
            "callback_url",
        ),
    ] {
        let refused = service.create_batch(&customer, &body).await;
        assert_eq!(refused.status, 400, "{refused}");
        assert_eq!(refused.body["type"], "error");
        assert_eq!(refused.body["error"]["type"], "invalid_request_error");
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(place), "{message}");
        let id = refused.headers["request-id"].to_str().unwrap();
        assert_eq!(refused.body["request_id"], id);
    }
    let listed = service.get(&customer, BATCHES).await;
    assert_eq!(listed.body["data"], json!([]));
}

#[tokio::test]
async fn errors_have_the_shape_that_clients_read() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let unknown = service
        .get(&customer, &format!("{BATCHES}/msgbatch_0"))
        .await;
    assert_eq!(
        (unknown.status, &unknown.body["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    let missing = service.get(&customer, "/anthropic/v1/messages").await;
    assert_eq!(
        (missing.status, &missing.body["type"]),
        (404, &json!("error"))
    );
    let request = Request::get(BATCHES).header("x-api-key", "svc_sk_none");
    let refused = service.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.body["error"]["type"], "authentication_error");
    let other = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let hidden = service.get(&other, &format!("{BATCHES}/{id}")).await;
    assert_eq!(hidden.status, 404);
}

#[tokio::test]
async fn lists_have_pages_in_both_directions() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        let body = json!({"requests": [item(name, "svc-mock")]});
        ids.push(id_of(&service.create_batch(&customer, &body).await));
        service.clock.advance(std::time::Duration::from_secs(1));
    }
    ids.reverse();
    let page = service
        .get(&customer, &format!("{BATCHES}?limit=2"))
        .await
        .body;
    assert_eq!(
        (&page["first_id"], &page["last_id"]),
        (&json!(ids[0]), &json!(ids[1]))
    );
    assert_eq!(page["has_more"], true);
    let path = format!("{BATCHES}?limit=2&after_id={}", ids[1]);
    let last = service.get(&customer, &path).await.body;
    assert_eq!(
        (&last["first_id"], &last["has_more"]),
        (&json!(ids[2]), &json!(false))
    );
    let path = format!("{BATCHES}?limit=1&before_id={}", ids[2]);
    let before = service.get(&customer, &path).await.body;
    assert_eq!(
        (&before["first_id"], &before["has_more"]),
        (&json!(ids[1]), &json!(true))
    );
    let wrong = service.get(&customer, &format!("{BATCHES}?limit=0")).await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test]
async fn an_ended_batch_can_be_deleted() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let early = service.act_on_batch(&customer, "DELETE", &id).await;
    assert_eq!(early.status, 400);
    service.finish_batches().await;
    let deleted = service.act_on_batch(&customer, "DELETE", &id).await;
    assert_eq!(
        deleted.body,
        json!({"id": id, "type": "message_batch_deleted"})
    );
    let gone = service.act_on_batch(&customer, "GET", &id).await;
    assert_eq!(gone.status, 404);
}

#[tokio::test]
async fn models_are_listed_for_chats_alone() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let models = service.get(&customer, "/anthropic/v1/models").await.body;
    let ids: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    assert!(ids.contains(&"svc-mock"));
    assert!(!ids.contains(&"vectors"));
    assert_eq!(models["has_more"], false);
}
