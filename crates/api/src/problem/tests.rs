//! Every refusal in the words of the contract.

use domain::admission::{Excess, LoadRefusal};
use domain::api_key::KeyRefusal;
use domain::model::{Capability, Kind};

use super::*;

fn shown(problem: impl Into<Problem>) -> String {
    let problem = problem.into();
    let status = problem.status().as_u16();
    let headers = problem
        .headers
        .iter()
        .map(|(name, value)| format!(" {name}: {value:?}"));
    let headers = headers.collect::<Vec<_>>().concat();
    let body = serde_json::to_string(&problem.into_refusal()).unwrap();
    format!("{status}{headers} {body}")
}

#[test]
fn keys_are_refused_as_the_contract_says() {
    insta::assert_snapshot!(shown(KeyRefusal::Missing), @r#"401 {"detail":"API key required. Include X-API-Key header."}"#);
    insta::assert_snapshot!(shown(KeyRefusal::Malformed), @r#"401 {"detail":"Invalid API key format."}"#);
    insta::assert_snapshot!(shown(KeyRefusal::Unknown), @r#"401 {"detail":"Invalid API key."}"#);
    insta::assert_snapshot!(shown(KeyRefusal::Expired), @r#"401 {"detail":"API key has expired."}"#);
    insta::assert_snapshot!(shown(KeyRefusal::ProjectInactive), @r#"403 {"detail":"Project is inactive."}"#);
}

#[test]
fn loads_are_refused_as_the_contract_says() {
    let supported = vec!["a".to_owned(), "b".to_owned()];
    let nearest = None;
    insta::assert_snapshot!(shown(LoadRefusal::UnknownModel { supported, nearest }), @r#"400 {"detail":{"error":"invalid_model","message":"No such model. Model ids are case-sensitive.","supported_models":["a","b"]}}"#);
    let (supported, nearest) = (vec!["quay".to_owned()], Some("quay".to_owned()));
    insta::assert_snapshot!(shown(LoadRefusal::UnknownModel { supported, nearest }), @r#"400 {"detail":{"error":"invalid_model","message":"No such model. Model ids are case-sensitive. Did you mean `quay`?","supported_models":["quay"]}}"#);
    insta::assert_snapshot!(shown(LoadRefusal::KindMismatch { model: Kind::Embedding }), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","messages"],"msg":"This is an embedding model: send input_text, not messages"}]}"#);
    insta::assert_snapshot!(shown(LoadRefusal::KindMismatch { model: Kind::Chat }), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","input_text"],"msg":"This is a chat model: send messages, not input_text"}]}"#);
    let input = |kind| Excess::Input {
        kind,
        context: 8192,
    };
    let output = Excess::Output { most: 4096 };
    insta::assert_snapshot!(shown(LoadRefusal::TooMuch(vec![output, input(Kind::Chat)])), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","max_tokens"],"msg":"max_tokens must be at most 4096 for this model"},{"type":"value_error","loc":["body","params","messages"],"msg":"The text is longer than the 8192 tokens that the model reads"}]}"#);
    insta::assert_snapshot!(shown(LoadRefusal::TooMuch(vec![input(Kind::Embedding)])), @r#"422 {"detail":[{"type":"value_error","loc":["body","params","input_text"],"msg":"The text is longer than the 8192 tokens that the model reads"}]}"#);
    let capability = Capability::Vision;
    insta::assert_snapshot!(shown(LoadRefusal::CapabilityMissing { capability }), @r#"422 {"detail":{"error":"model_capability_missing","message":"The model cannot read this: it has no vision.","capability":"vision"}}"#);
    let file_id = "file_1".to_owned();
    insta::assert_snapshot!(shown(LoadRefusal::FileNotFound { file_id }), @r#"422 {"detail":{"error":"file_not_found","message":"There is no such file in this project.","file_id":"file_1"}}"#);
    insta::assert_snapshot!(shown(Problem::idempotency_key_reused()), @r#"409 {"detail":{"error":"idempotency_key_reused","message":"This Idempotency-Key was used with another body in the last 24 hours."}}"#);
    insta::assert_snapshot!(shown(Problem::cargo_not_found()), @r#"404 {"detail":"Cargo not found"}"#);
    insta::assert_snapshot!(shown(Problem::too_large(10)), @r#"413 {"detail":"The request body is larger than 10 bytes."}"#);
}

#[test]
fn a_corrupt_row_is_our_failure_and_stays_inside() {
    let corrupt = store::Error::Corrupt {
        table: "cargo",
        column: "status",
    };
    let problem = Problem::from(corrupt);
    assert_eq!(
        problem.cause.as_ref().unwrap().0.to_string(),
        "column status of cargo holds what it never should"
    );
    insta::assert_snapshot!(shown(problem), @r#"500 {"detail":"Internal Server Error"}"#);
}

#[test]
fn storage_that_is_away_may_be_asked_again() {
    insta::assert_snapshot!(shown(Problem::unavailable("Away.", 1)), @r#"503 retry-after: "1" {"detail":"Away."}"#);
}

#[test]
fn the_cause_rides_in_the_extensions() {
    let response = Problem::internal("the keel is broken").into_response();
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["content-type"], "application/json");
    let Cause(cause) = response.extensions().get().unwrap();
    assert_eq!(cause.to_string(), "the keel is broken");
}
