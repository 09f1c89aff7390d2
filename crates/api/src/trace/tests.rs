//! The headers of every response, and the response to a panic.

use axum::body::{Body, to_bytes};
use axum::routing::get;
use tower::ServiceExt as _;

use super::*;
use crate::api_error;

fn app() -> Router {
    let routes = Router::new()
        .route("/good/{name}", get(async || "good"))
        .route(
            "/bad",
            get(async || ApiError::internal("the keel is broken")),
        )
        .route("/panic", get(panic_handler))
        .fallback(api_error::not_found)
        .method_not_allowed_fallback(api_error::method_not_allowed);
    trace_requests(routes, None)
}

async fn panic_handler() -> &'static str {
    panic!("overboard")
}

async fn send_request(method: &str, path: &str) -> (u16, String, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    let response = app().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["x-api-version"], API_VERSION);
    let id = response.headers()["x-request-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap(), id)
}

#[tokio::test]
async fn every_answer_has_an_id_of_its_own() {
    let (_, _, first) = send_request("GET", "/good/a").await;
    let (_, _, second) = send_request("GET", "/good/a").await;
    assert_eq!(first.len(), 32);
    assert_ne!(first, second);
}

#[tokio::test]
async fn what_goes_wrong_is_json() {
    let internal = r#"{"detail":"Internal Server Error"}"#.to_owned();
    let (status, body, _) = send_request("GET", "/bad").await;
    assert_eq!((status, body), (500, internal.clone()));
    let (status, body, _) = send_request("GET", "/panic").await;
    assert_eq!((status, body), (500, internal));
    let (status, body, _) = send_request("GET", "/nowhere").await;
    assert_eq!(
        (status, body),
        (404, r#"{"detail":"Not Found"}"#.to_owned())
    );
    let (status, body, _) = send_request("POST", "/bad").await;
    assert_eq!(
        (status, body),
        (405, r#"{"detail":"Method Not Allowed"}"#.to_owned())
    );
}

#[test]
fn invented_methods_share_one_name() {
    assert_eq!(method_label(&Method::POST), "POST");
    assert_eq!(method_label(&Method::from_bytes(b"BREW").unwrap()), "other");
}
