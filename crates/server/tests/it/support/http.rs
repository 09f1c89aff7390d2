//! In-process requests, and their responses in a form for snapshots.

use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, Request, request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::{Customer, TestService};

pub(crate) struct AppResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl AppResponse {
    pub(crate) fn cargo_id(&self) -> String {
        assert_eq!(self.status, 202, "{}", self.body);
        self.body["cargo_id"].as_str().unwrap().to_owned()
    }
}

/// Status and body, as the contract shows them.
impl std::fmt::Display for AppResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}",
            self.status,
            serde_json::to_string_pretty(&self.body).unwrap()
        )
    }
}

/// With its length, as clients send it.
pub(crate) fn with_body(request: request::Builder, body: String) -> Request<Body> {
    let request = request.header(CONTENT_LENGTH, body.len());
    request.body(Body::from(body)).unwrap()
}

impl TestService {
    pub(crate) async fn send(&self, request: Request<Body>) -> AppResponse {
        send(self.router.clone(), request).await
    }

    pub(crate) async fn get(&self, customer: &Customer, path: &str) -> AppResponse {
        let request = Request::get(path).header("X-API-Key", &customer.key);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post_load(&self, customer: &Customer, body: &Value) -> AppResponse {
        let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
        self.send(with_body(request, body.to_string())).await
    }

    pub(crate) async fn post_load_with_key(
        &self,
        customer: &Customer,
        name: &str,
        body: &Value,
    ) -> AppResponse {
        let request = Request::post("/cargo/load")
            .header("X-API-Key", &customer.key)
            .header("Idempotency-Key", name);
        self.send(with_body(request, body.to_string())).await
    }

    pub(crate) async fn load(&self, customer: &Customer, body: &Value) -> String {
        self.post_load(customer, body).await.cargo_id()
    }

    pub(crate) async fn track(&self, customer: &Customer, cargo: &str) -> Value {
        let answer = self
            .get(customer, &format!("/cargo/{cargo}/tracking"))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    pub(crate) async fn status(&self, customer: &Customer, cargo: &str) -> String {
        self.track(customer, cargo).await["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// Sends a request to one of the service's processes.
pub(crate) async fn send(router: axum::Router, request: Request<Body>) -> AppResponse {
    let answer = router.oneshot(request).await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    AppResponse {
        status,
        headers,
        body,
    }
}

/// A load of a chat for `svc-mock`.
pub(crate) fn chat_request(text: &str, callback_url: Option<&str>) -> Value {
    let params = json!({
        "model": "svc-mock", "max_tokens": 64,
        "messages": [{"role": "user", "content": text}],
    });
    match callback_url {
        Some(url) => json!({"params": params, "callback_url": url}),
        None => json!({"params": params}),
    }
}
