//! Every error in the words of the contract.

use domain::admission::{LoadRefusal, TokenExcess};
use domain::api_key::ApiKeyRefusal;
use domain::key_scope::{KeyRight, KeyScopeRefusal};
use domain::model::{Capability, ModelKind};

use super::*;

fn error_text(problem: impl Into<ApiError>) -> String {
    let problem = problem.into();
    let status = problem.status().as_u16();
    let headers = problem
        .headers
        .iter()
        .map(|(name, value)| format!(" {name}: {value:?}"));
    let headers = headers.collect::<Vec<_>>().concat();
    let body = serde_json::to_string(&problem.into_body()).unwrap();
    format!("{status}{headers} {body}")
}

#[test]
fn keys_are_refused_as_the_contract_says() {
    insta::assert_snapshot!(error_text(ApiKeyRefusal::Missing), @r#"401 {"detail":"API key required. Include X-API-Key header."}"#);
    insta::assert_snapshot!(error_text(ApiKeyRefusal::Malformed), @r#"401 {"detail":"Invalid API key format."}"#);
    insta::assert_snapshot!(error_text(ApiKeyRefusal::Unknown), @r#"401 {"detail":"Invalid API key."}"#);
    insta::assert_snapshot!(error_text(ApiKeyRefusal::Expired), @r#"401 {"detail":"API key has expired."}"#);
    insta::assert_snapshot!(error_text(ApiKeyRefusal::ProjectInactive), @r#"403 {"detail":"Project is inactive."}"#);
}

#[test]
fn a_request_outside_the_scope_of_its_key_is_forbidden_with_a_code() {
    let address = Some(std::net::IpAddr::from([192, 0, 2, 7]));
    insta::assert_snapshot!(error_text(KeyScopeRefusal::Address(address)), @r#"403 {"detail":{"error":"key_address_not_allowed","message":"This API key cannot be used from your address, 192.0.2.7. Use it from an allowed address, or use another key.","address":"192.0.2.7"}}"#);
    insta::assert_snapshot!(error_text(KeyScopeRefusal::Right(KeyRight::Files)), @r#"403 {"detail":{"error":"key_right_missing","message":"This API key does not have the right `files`, which this route needs. Use another key.","right":"files"}}"#);
    let allowed = vec!["svc-mock".to_owned()];
    insta::assert_snapshot!(error_text(KeyScopeRefusal::Model { allowed }), @r#"403 {"detail":{"error":"key_model_not_allowed","message":"This API key cannot load cargo of this model. Use an allowed model, or another key.","allowed_models":["svc-mock"]}}"#);
}

#[test]
fn loads_are_refused_as_the_contract_says() {
    let supported = vec!["a".to_owned(), "b".to_owned()];
    let nearest = None;
    insta::assert_snapshot!(error_text(LoadRefusal::UnknownModel { supported, nearest }), @r#"400 {"detail":{"error":"invalid_model","message":"No such model. Model ids are case-sensitive.","supported_models":["a","b"]}}"#);
    let (supported, nearest) = (vec!["model-a".to_owned()], Some("model-a".to_owned()));
    insta::assert_snapshot!(error_text(LoadRefusal::UnknownModel { supported, nearest }), @r#"400 {"detail":{"error":"invalid_model","message":"No such model. Model ids are case-sensitive. Did you mean `model-a`?","supported_models":["model-a"]}}"#);
    insta::assert_snapshot!(error_text(LoadRefusal::KindMismatch { model: ModelKind::Embedding }), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","messages"],"msg":"This is an embedding model: send input_text, not messages"}]}"#);
    insta::assert_snapshot!(error_text(LoadRefusal::KindMismatch { model: ModelKind::Chat }), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","input_text"],"msg":"This is a chat model: send messages, not input_text"}]}"#);
    let input = |kind| TokenExcess::Input {
        kind,
        context: 8192,
    };
    let output = TokenExcess::Output { most: 4096 };
    insta::assert_snapshot!(error_text(LoadRefusal::TooManyTokens(vec![output, input(ModelKind::Chat)])), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","max_tokens"],"msg":"max_tokens must be at most 4096 for this model"},{"type":"value_error","loc":["body","params","messages"],"msg":"The input exceeds the model's context window of 8192 tokens"}]}"#);
    insta::assert_snapshot!(error_text(LoadRefusal::TooManyTokens(vec![input(ModelKind::Embedding)])), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","input_text"],"msg":"The input exceeds the model's context window of 8192 tokens"}]}"#);
    let capability = Capability::Vision;
    insta::assert_snapshot!(error_text(LoadRefusal::CapabilityMissing { capability }), @r#"422 {"detail":{"error":"model_capability_missing","message":"The model cannot read this file: it has no vision capability. Choose another model.","capability":"vision"}}"#);
    let file_id = "file_1".to_owned();
    insta::assert_snapshot!(error_text(LoadRefusal::FileNotFound { file_id }), @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"file_1"}}"#);
    insta::assert_snapshot!(error_text(ApiError::idempotency_key_reused()), @r#"409 {"detail":{"error":"idempotency_key_reused","message":"This Idempotency-Key was used with another body in the last 24 hours. Use a new key for a new request."}}"#);
    insta::assert_snapshot!(error_text(ApiError::cargo_not_found()), @r#"404 {"detail":"Cargo not found"}"#);
    insta::assert_snapshot!(error_text(ApiError::unsupported_content_encoding()), @r#"415 accept-encoding: "identity" {"detail":"A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header."}"#);
    insta::assert_snapshot!(error_text(ApiError::too_large(10)), @r#"413 {"detail":"The request body is larger than 10 bytes."}"#);
}

#[test]
fn a_corrupt_row_is_our_failure_and_stays_inside() {
    let corrupt = store::Error::Corrupt {
        table: "cargo",
        column: "status",
    };
    let problem = ApiError::from(corrupt);
    assert_eq!(
        problem.cause.as_ref().unwrap().0.to_string(),
        "column status of cargo holds an invalid value"
    );
    insta::assert_snapshot!(error_text(problem), @r#"500 {"detail":"Internal Server Error"}"#);
}

#[test]
fn an_unavailable_database_may_be_retried() {
    insta::assert_snapshot!(error_text(ApiError::unavailable("Away.", 1)), @r#"503 retry-after: "1" {"detail":"Away."}"#);
}

#[test]
fn the_cause_is_in_the_extensions() {
    let response = ApiError::internal("the keel is broken").into_response();
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["content-type"], "application/json");
    let ErrorCause(cause) = response.extensions().get().unwrap();
    assert_eq!(cause.to_string(), "the keel is broken");
}

#[test]
fn clients_are_told_which_errors_to_repeat() {
    let advice = |problem: ApiError| {
        let response = problem.into_response();
        let value = response.headers().get("x-should-retry").cloned();
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let no = Some("false".to_owned());
    let coded = |code| ApiError::with_code(code, "No.");
    assert_eq!(advice(ApiError::idempotency_key_reused()), no);
    assert_eq!(advice(coded(ErrorCode::TokenQuotaExceeded)), no);
    assert_eq!(advice(coded(ErrorCode::InsufficientCredits)), no);
    assert_eq!(advice(coded(ErrorCode::KeySpendingCapExceeded)), no);
    // The status says enough.
    assert_eq!(advice(coded(ErrorCode::RateLimitExceeded)), None);
    assert_eq!(advice(ApiError::unavailable("Away.", 1)), None);
    assert_eq!(advice(ApiError::cargo_not_found()), None);
    let file = FileApiError::with_code(ErrorCode::FileInUse, "No.").into_response();
    assert_eq!(file.headers()["x-should-retry"], "false");
}
