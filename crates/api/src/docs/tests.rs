//! The OpenAPI document matches the code, and its page loads nothing from other servers.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use domain::reason_code::{FailureCode, WaitingCode};
use serde_json::Value;
use tower::ServiceExt as _;

use super::*;
use crate::load_validation;

mod compatibility;

fn openapi_json() -> Value {
    serde_json::to_value(openapi_document()).unwrap()
}

async fn fetch(path: &str) -> (u16, String, String, String) {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let response = router::<()>().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let header = |name: &str| {
        let value = response.headers().get(name);
        value
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default()
    };
    let (kind, policy) = (header("content-type"), header("content-security-policy"));
    let body = to_bytes(response.into_body(), 10 << 20).await.unwrap();
    (
        status,
        kind,
        policy,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

#[test]
fn every_route_and_answer_is_described() {
    let described = openapi_json();
    assert_eq!(described["openapi"], "3.1.0");
    let mut operations = Vec::new();
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let codes: Vec<_> = operation["responses"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect();
            let guarded = operation["security"].as_array().is_none();
            operations.push(format!("{method} {path} key={guarded} {}", codes.join(" ")));
        }
    }
    insta::assert_snapshot!(operations.join("\n"), @"
    get /audit key=true 200 401 422 429 500 503
    get /cargo key=true 200 401 403 422 429 500 503
    post /cargo/bulk key=true 200 400 401 403 408 413 415 429 500 503
    post /cargo/estimate key=true 200 400 401 403 408 413 415 429 500 503
    post /cargo/load key=true 202 400 401 403 404 408 409 413 415 422 429 500 503
    post /cargo/wait key=true 200 400 401 403 408 413 415 422 429 500 503
    get /cargo/{cargo_id}/attempts key=true 200 401 403 404 429 500 503
    post /cargo/{cargo_id}/cancel key=true 200 401 403 404 429 500 503
    post /cargo/{cargo_id}/resend key=true 202 401 403 404 409 429 500 503
    get /cargo/{cargo_id}/tracking key=true 200 401 403 404 422 429 500 503
    get /files key=true 200 401 403 422 429 500 503
    post /files key=true 200 201 400 401 403 408 409 413 415 422 429 500 503
    get /files/{file_id} key=true 200 401 403 404 429 500 503
    delete /files/{file_id} key=true 200 401 403 404 409 422 429 500 503
    patch /files/{file_id} key=true 200 400 401 403 404 408 409 413 415 422 429 500 503
    post /files/{file_id}/complete key=true 200 202 400 401 403 404 408 409 413 415 422 429 500 503
    get /files/{file_id}/content key=true 200 401 403 404 409 429 500 503
    post /files/{file_id}/parts key=true 200 400 401 403 404 408 409 413 415 422 429 500 503
    get /groups key=true 200 401 403 422 429 500 503
    post /groups key=true 200 201 400 401 403 408 409 413 415 422 429 500 503
    get /groups/{group_id} key=true 200 401 403 404 422 429 500 503
    post /groups/{group_id}/cancel key=true 202 401 403 404 429 500 503
    get /groups/{group_id}/results key=true 200 401 403 404 422 429 500 503
    post /groups/{group_id}/seal key=true 200 400 401 403 404 408 409 413 415 422 429 500 503
    get /health key=false 200
    get /listen key=true 200 401 403 404 409 422 429 500 503
    post /listen/{listener_id}/answers key=true 204 400 401 403 404 408 413 415 422 429 500 503
    get /models key=true 200 401 403 429 500 503
    get /ready key=false 200 503
    get /whoami key=true 200 401 403 429 500 503
    ");
}

#[test]
fn the_result_is_described_as_a_callback_of_load() {
    let load = &openapi_json()["paths"]["/cargo/load"]["post"];
    let callback = &load["callbacks"]["result"]["{$request.body#/callback_url}"]["post"];
    let schema = &callback["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/ResultCallback");
    assert_eq!(load["parameters"][0]["name"], "Idempotency-Key");
}

#[test]
fn every_reference_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(array) => array.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let described = openapi_json();
    let mut found = Vec::new();
    references(&described, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(described.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn every_reason_code_is_listed_with_its_description() {
    let described = openapi_json();
    let guide = described["info"]["description"].as_str().unwrap();
    let page = include_str!("../../../../docs/loading-and-callbacks.md");
    for code in WaitingCode::ALL {
        let (code, text) = (code.as_str(), code.description());
        assert!(guide.contains(&format!("\n- `{code}`: {text}\n")), "{code}");
        assert!(page.contains(&format!("\n| `{code}` | `{text}")), "{code}");
    }
    for code in FailureCode::ALL {
        let (code, text) = (code.as_str(), code.description());
        assert!(guide.contains(&format!("\n- `{code}`: {text}\n")), "{code}");
        assert!(
            page.contains(&format!("\n| `{code}` | {text} |\n")),
            "{code}"
        );
    }
}

#[test]
fn what_is_shown_as_a_load_is_one() {
    for (name, body) in examples::loads() {
        let checked =
            load_validation::parse_load(body.to_string().as_bytes(), &load::DOCUMENTED_RULES);
        assert!(checked.is_ok(), "{name}: {checked:?}");
        let described: wire::load::LoadRequest = serde_json::from_value(body).unwrap();
        drop(described);
    }
}

#[test]
fn what_is_shown_as_a_refusal_is_one() {
    let described = openapi_json();
    for code in ["400", "422"] {
        let response = &described["paths"]["/cargo/load"]["post"]["responses"][code];
        let examples = response["content"]["application/json"]["examples"]
            .as_object()
            .unwrap();
        assert!(examples.len() > 1);
        for example in examples.values() {
            assert_ne!(
                example["value"]["detail"], "Internal Server Error",
                "{example}"
            );
        }
    }
}

#[test]
fn what_files_show_as_a_refusal_is_one() {
    let described = openapi_json();
    let paths = described["paths"].as_object().unwrap();
    let files = paths.iter().filter(|(path, _)| path.starts_with("/files"));
    let mut shown = 0;
    for (path, item) in files {
        for operation in item.as_object().unwrap().values() {
            for (code, response) in operation["responses"].as_object().unwrap() {
                let examples = &response["content"]["application/json"]["examples"];
                assert!(examples.is_object(), "{path} {code}");
                for example in examples.as_object().unwrap().values() {
                    let message = &example["value"]["message"];
                    assert!(
                        code == "500" || message != "Internal Server Error",
                        "{example}"
                    );
                    shown += 1;
                }
            }
        }
    }
    assert!(shown > 80, "{shown}");
}

#[tokio::test]
async fn the_description_is_served() {
    let (status, kind, _, body) = fetch("/openapi.json").await;
    assert_eq!((status, kind.as_str()), (200, "application/json"));
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        openapi_json()
    );
}

#[tokio::test]
async fn the_page_fetches_nothing_from_elsewhere() {
    let (status, kind, policy, page) = fetch("/docs").await;
    assert_eq!((status, kind.as_str()), (200, "text/html; charset=utf-8"));
    assert!(
        !policy.contains("http") && !policy.contains('*') && policy.contains("default-src 'none'")
    );
    let named = |attribute: &str| {
        let parts: Vec<_> = page.split(attribute).skip(1).collect();
        parts
            .into_iter()
            .map(|part| part.split('"').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let files = [named("src=\""), named("href=\"")].concat();
    assert!(files.len() >= 6);
    for file in files {
        let (status, kind, _, body) = fetch(&format!("/{file}")).await;
        assert_eq!(status, 200, "{file}");
        assert!(!body.is_empty());
        if kind.starts_with("text/css") {
            let compact = body.replace([' ', '"', '\''], "");
            for outside in [
                "@importhttp",
                "@import//",
                "url(http",
                "url(//",
                "@importurl",
            ] {
                assert!(!compact.contains(outside), "{file} {outside}");
            }
        }
    }
    let (_, _, _, script) = fetch("/docs/page.js").await;
    assert!(!script.contains("http") && script.contains("validatorUrl: null"));
}

#[tokio::test]
async fn low_the_page_does_not_store_the_key() {
    let (_, _, _, script) = fetch("/docs/page.js").await;
    assert!(script.contains("persistAuthorization: false"));
    assert!(!script.contains("setItem"));
}

#[tokio::test]
async fn the_page_is_found_with_and_without_a_slash() {
    assert_eq!(fetch("/docs/").await.0, 303);
    assert_eq!(fetch("/docs/nowhere.js").await.0, 404);
    assert_eq!(fetch("/docs/swagger-ui.js").await.0, 404);
    assert_eq!(fetch("/docs/%FF").await.0, 404);
}
