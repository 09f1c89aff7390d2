//! How a request may be written: its path, its encoding, and what precedes its JSON.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::support::files::create_file_request;
use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, TestService};

impl TestService {
    /// Sends a body with a `Content-Encoding`.
    async fn send_encoded(
        &self,
        customer: &Customer,
        route: &str,
        encoding: &str,
        body: &Value,
    ) -> AppResponse {
        let (method, path) = route.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("X-API-Key", &customer.key)
            .header("Content-Encoding", encoding);
        let body = Body::from(body.to_string());
        self.send(request.body(body).unwrap()).await
    }
}

#[tokio::test]
async fn a_path_that_is_not_utf8_is_not_found() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let tracking = service.get(&customer, "/cargo/%FF/tracking").await;
    assert_eq!(tracking.headers["content-type"], "application/json");
    insta::assert_snapshot!(tracking, @r#"
    404 {
      "detail": "Cargo not found"
    }
    "#);
    for path in ["/%FF", "/cargo/%FF", "/docs/%FF", "/cargo/load/%C3%28"] {
        let answer = service.get(&customer, path).await;
        let not_found = json!({"detail": "Not Found"});
        assert_eq!((answer.status, answer.body), (404, not_found), "{path}");
    }
    for path in ["/files/%FF", "/files/%FF/content", "/files/%C3%28"] {
        let answer = service.get(&customer, path).await;
        let error = json!("file_not_found");
        assert_eq!((answer.status, &answer.body["error"]), (404, &error));
    }
    // The key is checked first.
    let request = Request::get("/cargo/%FF/tracking").body(Body::empty());
    assert_eq!(service.send(request.unwrap()).await.status, 401);
}

#[tokio::test]
async fn a_byte_order_mark_before_the_json_is_skipped() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let send = async |path: &str, body: &Value| {
        let request = Request::post(path).header("X-API-Key", &customer.key);
        let body = Body::from(format!("\u{feff}{body}"));
        service.send(request.body(body).unwrap()).await
    };
    let load = send("/cargo/load", &chat_request("Hello.", None)).await;
    assert_eq!(load.status, 202, "{load}");
    let file = send("/files", &create_file_request(b"ahoy", "text/plain")).await;
    assert_eq!(file.status, 201, "{file}");
    let parts = format!("/files/{}/parts", file.body["id"].as_str().unwrap());
    assert_eq!(send(&parts, &json!({})).await.status, 200);
}

#[tokio::test]
async fn a_compressed_body_is_refused_on_every_route() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let refused = service
        .send_encoded(&customer, "POST /cargo/load", "gzip", &json!({}))
        .await;
    assert_eq!(refused.headers["accept-encoding"], "identity");
    insta::assert_snapshot!(refused, @r#"
    415 {
      "detail": "A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header."
    }
    "#);
    let file = create_file_request(b"ahoy", "text/plain");
    let refused = service
        .send_encoded(&customer, "POST /files", "br", &file)
        .await;
    insta::assert_snapshot!(refused, @r#"
    415 {
      "error": "unsupported_content_encoding",
      "message": "A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header.",
      "detail": {
        "error": "unsupported_content_encoding",
        "message": "A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header."
      }
    }
    "#);
    let session = service
        .send_encoded(&customer, "POST /files", "identity", &file)
        .await;
    assert_eq!(session.status, 201, "{session}");
    let path = format!("/files/{}", session.body["id"].as_str().unwrap());
    for route in [
        format!("POST {path}/complete"),
        format!("POST {path}/parts"),
        format!("PATCH {path}"),
    ] {
        let refused = service
            .send_encoded(&customer, &route, "gzip, identity", &json!({}))
            .await;
        assert_eq!(refused.status, 415, "{route} {refused}");
    }
    let chat = chat_request("Hello.", None);
    let loaded = service
        .send_encoded(&customer, "POST /cargo/load", "Identity", &chat)
        .await;
    assert_eq!(loaded.status, 202, "{loaded}");
}
