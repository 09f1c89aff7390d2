//! Requests of a batch, field by field.

use std::fmt::Write as _;

use domain::features::{Features, SamplingSupport, ThinkingSupport};
use domain::params::thinking::Effort;
use domain::route::{InferenceMode, Route};
use serde_json::{Map, Value, json};

use super::{encoded_line, encoded_request};
use crate::provider::fixtures::{
    FixtureMedia, chat_with_file, chat_with_role, embedding, full_chat, item,
};
use crate::provider::gemini::request_body;

/// What the fields become besides the conversation.
fn encoded_fields(fields: &Value, features: Features) -> String {
    let request = encoded_request(fields, features);
    let request = request.as_object().unwrap().clone();
    let other: Map<String, Value> = request
        .into_iter()
        .filter(|(name, _)| !["contents", "generationConfig"].contains(&name.as_str()))
        .collect();
    Value::Object(other).to_string()
}

/// What the fields become in `generationConfig`.
fn encoded_config(fields: &Value, features: Features) -> String {
    let request = encoded_request(fields, features);
    let Some(config) = request["generationConfig"].as_object() else {
        return request.to_string();
    };
    let other: Map<String, Value> = config
        .clone()
        .into_iter()
        .filter(|(name, _)| name != "maxOutputTokens")
        .collect();
    Value::Object(other).to_string()
}

#[test]
fn a_request_keeps_every_parameter() {
    insta::assert_snapshot!(encoded_line(&full_chat()), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi\n\u0000\"é\""}]},{"role":"model","parts":[{"text":"Yes?"}]},{"role":"user","parts":[{"text":"a"},{"text":"b"}]}],"generationConfig":{"maxOutputTokens":50,"temperature":0.7,"topP":0.9,"topK":40,"stopSequences":["END","\n"]}}}"#);
    assert_eq!(encoded_line(&full_chat()), encoded_line(&full_chat()));
}

#[test]
fn an_embedding_is_of_one_text() {
    insta::assert_snapshot!(encoded_line(&embedding(&json!("a"))), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"content":{"parts":[{"text":"a"}]}}}"#);
    assert_eq!(
        encoded_line(&embedding(&json!(["a"]))),
        encoded_line(&embedding(&json!("a")))
    );
    insta::assert_snapshot!(encoded_line(&embedding(&json!(["a", "b"]))), @"unsupported: the model accepts one text per embedding request");
}

#[test]
fn an_embedding_may_have_a_size_and_a_purpose() {
    let mut rows = String::new();
    for input_type in [
        "query",
        "document",
        "similarity",
        "classification",
        "clustering",
    ] {
        let params = json!({
            "model": "ours", "input_text": "a", "dimensions": 256, "input_type": input_type,
        });
        let line: Value = serde_json::from_str(&encoded_line(&item(params))).unwrap();
        writeln!(rows, "{}", line["request"]).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    {"content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":256}
    {"content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT","outputDimensionality":256}
    {"content":{"parts":[{"text":"a"}]},"taskType":"SEMANTIC_SIMILARITY","outputDimensionality":256}
    {"content":{"parts":[{"text":"a"}]},"taskType":"CLASSIFICATION","outputDimensionality":256}
    {"content":{"parts":[{"text":"a"}]},"taskType":"CLUSTERING","outputDimensionality":256}
    "#);
}

#[test]
fn files_stand_in_the_line_and_texts_as_they_are() {
    let mut rows = String::new();
    for (kind, file) in [
        ("image", "image"),
        ("document", "pdf"),
        ("document", "csv"),
        ("video", "video"),
        ("image", "gone"),
    ] {
        let encoded = encoded_line(&chat_with_file(kind, file));
        let content = serde_json::from_str::<Value>(&encoded).map_or(encoded, |line| {
            line["request"]["contents"][0]["parts"][0].to_string()
        });
        writeln!(rows, "{file}: {content}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    image: {"inlineData":{"mimeType":"image/png","data":"aW1hZ2U="}}
    pdf: {"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}
    csv: {"text":"a,b\n1,2"}
    video: {"inlineData":{"mimeType":"video/mp4","data":"dmlkZW8="}}
    gone: unsupported: file gone no longer exists
    "#);
    insta::assert_snapshot!(encoded_line(&chat_with_role("system")), @"unsupported: a message's role must be user or assistant");
}

#[test]
fn tools_are_functions_and_their_choice_is_a_mode() {
    let tools = |strict: bool| {
        json!([
            {"name": "find", "description": "Finds.", "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}, "strict": strict},
            {"name": "stop", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        ])
    };
    let fields = json!({"tools": tools(false)});
    insta::assert_snapshot!(encoded_fields(&fields, Features::plain()), @r#"{"tools":[{"functionDeclarations":[{"name":"find","description":"Finds.","parametersJsonSchema":{"type":"object","properties":{"b":{},"a":{}}}},{"name":"stop","parametersJsonSchema":{"type":"object"}}]}]}"#);
    let mut rows = String::new();
    for choice in [
        Value::Null,
        json!({"type": "auto"}),
        json!({"type": "any"}),
        json!({"type": "tool", "name": "find"}),
        json!({"type": "none"}),
    ] {
        for strict in [false, true] {
            let fields = json!({"tools": tools(strict), "tool_choice": choice});
            let request = encoded_request(&fields, Features::plain());
            writeln!(rows, "{choice} {strict}: {}", request["toolConfig"]).unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    null false: null
    null true: {"functionCallingConfig":{"mode":"VALIDATED"}}
    {"type":"auto"} false: {"functionCallingConfig":{"mode":"AUTO"}}
    {"type":"auto"} true: {"functionCallingConfig":{"mode":"VALIDATED"}}
    {"type":"any"} false: {"functionCallingConfig":{"mode":"ANY"}}
    {"type":"any"} true: {"functionCallingConfig":{"mode":"ANY"}}
    {"type":"tool","name":"find"} false: {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["find"]}}
    {"type":"tool","name":"find"} true: {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["find"]}}
    {"type":"none"} false: {"functionCallingConfig":{"mode":"NONE"}}
    {"type":"none"} true: {"functionCallingConfig":{"mode":"NONE"}}
    "#);
}

#[test]
fn a_system_prompt_may_have_parts() {
    let mark = json!({"type": "ephemeral"});
    let fields = json!({"cache_control": mark, "system": [
        {"type": "text", "text": "a", "cache_control": mark}, {"type": "text", "text": "b"},
    ]});
    insta::assert_snapshot!(encoded_fields(&fields, Features::plain()), @r#"{"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]}}"#);
}

#[test]
fn the_answer_may_have_a_schema_and_a_seed() {
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {}}});
    let fields = json!({
        "seed": 7,
        "output_config": {"format": {"type": "json_schema", "name": "answer", "schema": schema}},
    });
    insta::assert_snapshot!(encoded_config(&fields, Features::plain()), @r#"{"seed":7,"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"b":{},"a":{}}}}"#);
}

#[test]
fn thinking_has_a_budget_or_a_level() {
    let features = |budget: Option<(u32, u32)>, default_effort: Option<Effort>| Features {
        thinking: ThinkingSupport {
            budget,
            default_effort,
            ..ThinkingSupport::none()
        },
        ..Features::plain()
    };
    let mut rows = String::new();
    for fields in [
        json!({}),
        json!({"output_config": {"effort": "low"}}),
        json!({"output_config": {"effort": "medium"}}),
        json!({"output_config": {"effort": "high"}}),
        json!({"thinking": {"type": "disabled"}}),
        json!({"thinking": {"type": "adaptive"}}),
        json!({"thinking": {"type": "adaptive", "display": "summarized"}}),
        json!({"thinking": {"type": "enabled", "budget_tokens": 1500, "display": "omitted"}}),
    ] {
        let budget = encoded_config(&fields, features(Some((2000, 20_000)), None));
        let level = encoded_config(&fields, features(None, None));
        writeln!(rows, "{fields}\n  {budget}\n  {level}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    {}
      {}
      {}
    {"output_config":{"effort":"low"}}
      {"thinkingConfig":{"thinkingBudget":2000}}
      {"thinkingConfig":{"thinkingLevel":"LOW"}}
    {"output_config":{"effort":"medium"}}
      {"thinkingConfig":{"thinkingBudget":8192}}
      {"thinkingConfig":{"thinkingLevel":"MEDIUM"}}
    {"output_config":{"effort":"high"}}
      {"thinkingConfig":{"thinkingBudget":20000}}
      {"thinkingConfig":{"thinkingLevel":"HIGH"}}
    {"thinking":{"type":"disabled"}}
      {"thinkingConfig":{"thinkingBudget":0}}
      {"thinkingConfig":{"thinkingLevel":"MINIMAL"}}
    {"thinking":{"type":"adaptive"}}
      {"thinkingConfig":{"thinkingBudget":-1}}
      {}
    {"thinking":{"type":"adaptive","display":"summarized"}}
      {"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}
      {"thinkingConfig":{"includeThoughts":true}}
    {"thinking":{"type":"enabled","budget_tokens":1500,"display":"omitted"}}
      {"thinkingConfig":{"thinkingBudget":1500}}
      "unsupported: the model does not support budget_tokens"
    "#);
    let default = features(None, Some(Effort::Low));
    insta::assert_snapshot!(encoded_config(&json!({}), default), @r#"{"thinkingConfig":{"thinkingLevel":"LOW"}}"#);
}

#[test]
fn limits_of_the_model_change_what_is_sent() {
    let features = || Features {
        sampling: SamplingSupport::Drop,
        max_stop_sequences: 1,
        min_output: 4000,
        ..Features::plain()
    };
    let one = json!({"stop_sequences": ["a"], "temperature": 0.5, "top_p": 0.5, "top_k": 4});
    insta::assert_snapshot!(encoded_config(&one, features()), @r#"{"stopSequences":["a"]}"#);
    let two = json!({"stop_sequences": ["a", "b"]});
    assert_eq!(encoded_config(&two, features()), "{}");
    let request = encoded_request(&two, features());
    assert_eq!(request["generationConfig"]["maxOutputTokens"], 4000);
}

#[test]
fn options_of_the_provider_are_fields_of_the_configuration_and_never_replace_one() {
    let fields = json!({"provider_options": {
        "gemini": {"mediaResolution": "MEDIA_RESOLUTION_LOW", "maxOutputTokens": 9},
        "anthropic": {"other": 2},
    }});
    insta::assert_snapshot!(encoded_request(&fields, Features::plain())["generationConfig"].to_string(), @r#"{"maxOutputTokens":2000,"mediaResolution":"MEDIA_RESOLUTION_LOW"}"#);
}

#[test]
fn only_a_chat_by_flex_names_its_tier() {
    let tier = |via: InferenceMode| {
        let route = Route::plain("gemini", "theirs", via);
        let body = request_body::encode(&full_chat().params, &route, &FixtureMedia);
        body.unwrap()["serviceTier"].clone()
    };
    assert_eq!(tier(InferenceMode::Flex), "flex");
    assert_eq!(tier(InferenceMode::Batch), Value::Null);
    assert_eq!(tier(InferenceMode::Realtime), Value::Null);
    let route = Route::plain("gemini", "theirs", InferenceMode::Flex);
    let item = embedding(&json!("a"));
    let refused = request_body::encode(&item.params, &route, &FixtureMedia).unwrap_err();
    insta::assert_snapshot!(refused.to_string(), @"the provider has no flex tier for embeddings");
}
