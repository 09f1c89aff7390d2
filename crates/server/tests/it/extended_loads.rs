//! `POST /cargo/load` beyond the contract: warnings, fields of vendors, features and deadlines.

use std::sync::Arc;
use std::time::Duration;

use domain::features::ToolSupport;
use domain::model::{Catalogue, Model, ModelKind};
use serde_json::{Value, json};

use crate::support::TestService;
use crate::support::http::chat_request;

impl TestService {
    /// Serves one more model, which takes tools.
    fn add_model_with_tools(&self) {
        let mut model = Model::plain("capable", "mock", ModelKind::Chat);
        model.features.tools = ToolSupport::Parallel;
        model.features.max_tools = 128;
        let served = Arc::clone(&self.catalogue.borrow());
        let models = served.models().cloned().chain([model]);
        self.catalogue
            .send_replace(Arc::new(Catalogue::new(models)));
    }
}

fn tools() -> Value {
    json!([{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}])
}

#[tokio::test]
async fn unknown_fields_are_named_in_the_acknowledgement_and_in_tracking() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["stream"] = json!(true);
    body["team"] = json!("blue");
    let answer = service.post_load(&customer, &body).await;
    insta::with_settings!({filters => vec![("crg_[0-9a-f]{32}", "[cargo]")]}, {
        insta::assert_snapshot!(answer, @r#"
        202 {
          "cargo_id": "[cargo]",
          "status": "success",
          "message": "Cargo loaded.",
          "warnings": [
            {
              "field": "params.stream",
              "code": "unknown_field",
              "message": "The field is ignored: the answer is sent to callback_url when it is complete."
            },
            {
              "field": "team",
              "code": "unknown_field",
              "message": "Longshore has no field of this name and ignores it."
            }
          ]
        }
        "#);
    });
    let record = service.track(&customer, &answer.cargo_id()).await;
    assert_eq!(record["warnings"], answer.body["warnings"]);
    assert_eq!(record.get("route"), None);
}

#[tokio::test]
async fn a_repeated_load_has_no_warnings() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["stream"] = json!(true);
    let load = async || service.post_load_with_key(&customer, "once", &body).await;
    assert!(load().await.body["warnings"].is_array());
    assert_eq!(load().await.body.get("warnings"), None);
}

#[tokio::test]
async fn a_field_that_would_change_the_answer_is_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["response_format"] = json!({"type": "json_object"});
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": [
        {
          "type": "value_error",
          "loc": [
            "body",
            "params",
            "response_format"
          ],
          "msg": "Longshore has no field of this name. Use output_config.format: {\"type\": \"json_schema\", \"schema\": {…}}."
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn a_feature_that_the_model_does_not_have_is_refused_at_its_field() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["tools"] = tools();
    let refused = service.post_load(&customer, &body).await;
    let detail = &refused.body["detail"];
    assert_eq!(refused.status, 422, "{refused}");
    assert_eq!(detail["error"], "model_capability_missing");
    assert_eq!(detail["capability"], "tools");
    assert_eq!(detail["loc"], json!(["body", "params", "tools"]));
    service.add_model_with_tools();
    body["params"]["model"] = json!("capable");
    let cargo = service.load(&customer, &body).await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record.get("warnings"), None);
}

#[tokio::test]
async fn a_conversation_that_breaks_a_rule_is_refused_before_its_model() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["model"] = json!("no-such-model");
    body["params"]["tool_choice"] = json!({"type": "auto"});
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.status, 422, "{refused}");
    let loc = &refused.body["detail"][0]["loc"];
    assert_eq!(*loc, json!(["body", "params", "tool_choice"]));
}

#[tokio::test]
async fn a_deadline_is_shown_with_the_way_that_the_cargo_takes() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["deadline_seconds"] = json!(7200);
    let cargo = service.load(&customer, &body).await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["deadline_at"], "2026-01-01T02:00:00.000000Z");
    assert_eq!(
        record["route"],
        json!({"via": "batch", "reason": "only_way"})
    );
}

#[tokio::test]
async fn a_load_can_be_repeated_after_its_deadline() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["deadline_at"] = json!("2026-01-01T01:00:00Z");
    let first = service.post_load_with_key(&customer, "once", &body).await;
    let record = service.track(&customer, &first.cargo_id()).await;
    assert_eq!(record["deadline_at"], "2026-01-01T01:00:00.000000Z");
    service.clock.advance(Duration::from_hours(2));
    let again = service.post_load_with_key(&customer, "once", &body).await;
    assert_eq!(again.cargo_id(), first.cargo_id());
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.status, 422, "{refused}");
    let loc = &refused.body["detail"][0]["loc"];
    assert_eq!(*loc, json!(["body", "deadline_at"]));
}
