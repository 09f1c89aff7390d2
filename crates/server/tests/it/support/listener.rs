//! A program that listens for callbacks.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::support::http::{AppResponse, send};
use crate::support::{Customer, TestService};

/// An open stream, after its event `ready`. Dropping it ends it.
pub(crate) struct TestListener {
    pub(crate) secret: String,
    router: Router,
    key: String,
    id: String,
    stream: Body,
    /// Received, and not yet a whole event.
    received: String,
}

impl TestListener {
    pub(crate) async fn connect(service: &TestService, customer: &Customer, name: &str) -> Self {
        Self::connect_to(service.router.clone(), customer, name).await
    }

    /// Connects to one of the service's processes.
    pub(crate) async fn connect_to(router: Router, customer: &Customer, name: &str) -> Self {
        let request = Request::get(format!("/listen?name={name}"));
        let request = request.header("X-API-Key", &customer.key);
        let request = request.body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut listener = Self {
            secret: String::new(),
            router,
            key: customer.key.clone(),
            id: String::new(),
            stream: response.into_body(),
            received: String::new(),
        };
        let (event, ready) = listener.next_event().await.unwrap();
        assert_eq!(event, "ready");
        ready["listener_id"]
            .as_str()
            .unwrap()
            .clone_into(&mut listener.id);
        ready["secret"]
            .as_str()
            .unwrap()
            .clone_into(&mut listener.secret);
        listener
    }

    /// The name and the data of the next event. None at the end of the stream.
    pub(crate) async fn next_event(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.received.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines();
                    lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
                };
                let found = field("event: ").zip(field("data: "));
                let rest = rest.to_owned();
                self.received = rest;
                if let Some((name, data)) = found {
                    return Some((name, serde_json::from_str(&data).unwrap()));
                }
                continue;
            }
            let frame = self.stream.frame().await?.unwrap();
            let data = frame.into_data().unwrap();
            self.received.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    pub(crate) async fn answer(&self, answer: &Value) -> AppResponse {
        let path = format!("/listen/{}/answers", self.id);
        let request = Request::post(path).header("X-API-Key", &self.key);
        let request = request.body(Body::from(answer.to_string())).unwrap();
        send(self.router.clone(), request).await
    }
}
