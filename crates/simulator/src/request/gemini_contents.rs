//! Gemini's contents: roles, function calls, their responses and thought signatures.

use serde_json::Value;

use super::google_fields::{check_names, field_by_names, parts};
use super::{list, part_text, text_field};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::GeminiRules;
use crate::signature;

/// Accepted in place of a signature, for calls that Gemini did not make.
const BYPASS_SIGNATURES: [&str; 2] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
];

const PART_FIELDS: &[&str] = &[
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "mediaResolution",
    "partMetadata",
    "text",
    "thought",
    "thoughtSignature",
    "videoMetadata",
];

pub(super) fn check(rules: &GeminiRules, contents: &[Value]) -> Result<(), InvalidRequest> {
    // The current turn begins after the last content of the user that is not only responses.
    let is_text_of_user = |content: &Value| {
        text_field(content, "role") != Some("model") && function_responses(content).is_empty()
    };
    let turn = contents.iter().rposition(is_text_of_user).unwrap_or(0);
    for (index, content) in contents.iter().enumerate() {
        check_names(content, &["role", "parts"], &format!("contents[{index}]"))?;
        match text_field(content, "role") {
            Some("user" | "model") | None => {}
            Some(_) => return Err("please use a valid role: user, model".into()),
        }
        for (part_index, part) in list(content.get("parts")).iter().enumerate() {
            let path = format!("contents[{index}].parts[{part_index}]");
            check_names(part, PART_FIELDS, &path)?;
            check_signature(part)?;
        }
        if rules.requires_signatures && index > turn {
            require_signature(content, index)?;
        }
        check_responses(
            content,
            index.checked_sub(1).and_then(|it| contents.get(it)),
        )?;
    }
    Ok(())
}

fn thought_signature(part: &Value) -> Option<&str> {
    field_by_names(part, "thoughtSignature", "thought_signature").and_then(Value::as_str)
}

fn function_call(part: &Value) -> Option<&Value> {
    field_by_names(part, "functionCall", "function_call")
}

fn function_responses(content: &Value) -> Vec<&Value> {
    list(content.get("parts"))
        .iter()
        .filter_map(|part| field_by_names(part, "functionResponse", "function_response"))
        .collect()
}

fn check_signature(part: &Value) -> Result<(), InvalidRequest> {
    let Some(signature) = thought_signature(part) else {
        return Ok(());
    };
    let name = function_call(part).and_then(|call| text_field(call, "name"));
    let is_valid = BYPASS_SIGNATURES.contains(&signature)
        || signature::is_valid(signature, name.unwrap_or(signature::TEXT_PART));
    if is_valid {
        Ok(())
    } else {
        Err("Corrupted thought signature.".into())
    }
}

/// The first call of a step carries the signature that it came with.
fn require_signature(content: &Value, index: usize) -> Result<(), InvalidRequest> {
    let mut parts = list(content.get("parts")).iter();
    let first = parts.find(|part| function_call(part).is_some());
    let Some(part) = first.filter(|part| thought_signature(part).is_none()) else {
        return Ok(());
    };
    let name = function_call(part).and_then(|call| text_field(call, "name"));
    Err(format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        name.unwrap_or_default(),
        index + 1
    )
    .into())
}

/// As many responses as calls, right after them, each with its name.
fn check_responses(content: &Value, previous: Option<&Value>) -> Result<(), InvalidRequest> {
    let responses = function_responses(content);
    if responses
        .iter()
        .any(|it| text_field(it, "name").is_none_or(str::is_empty))
    {
        return Err(
            "* GenerateContentRequest.contents.parts.function_response.name: Name cannot be empty."
                .into(),
        );
    }
    let calls = previous.map_or(0, |previous| {
        let parts = list(previous.get("parts")).iter();
        parts.filter(|part| function_call(part).is_some()).count()
    });
    if responses.len() != calls {
        return Err("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".into());
    }
    Ok(())
}

/// Bytes of the instruction, the declarations, and every text, call and response.
pub(super) fn text_bytes(request: &Value, contents: &[Value]) -> usize {
    let system = field_by_names(request, "systemInstruction", "system_instruction");
    let system = parts(system.unwrap_or(&Value::Null));
    let system: usize = system.iter().map(|text| text.len()).sum();
    let tools = list(request.get("tools")).iter();
    let tools: usize = tools.map(|tool| tool.to_string().len()).sum();
    let contents = contents.iter().flat_map(|it| list(it.get("parts")));
    let contents: usize = contents.map(part_bytes).sum();
    system + tools + contents
}

fn part_bytes(part: &Value) -> usize {
    let text = part_text(part).map_or(0, str::len);
    let call = function_call(part);
    let response = field_by_names(part, "functionResponse", "function_response");
    let json = [call, response].into_iter().flatten();
    text + json.map(|it| it.to_string().len()).sum::<usize>()
}

/// The texts of the last content of the user, and its responses.
pub(super) fn last_user_text(contents: &[Value]) -> String {
    let mut contents = contents.iter().rev();
    let last = contents.find(|it| text_field(it, "role") != Some("model"));
    let parts = last.map(|it| list(it.get("parts"))).unwrap_or_default();
    let mut all = Vec::new();
    for part in parts {
        match field_by_names(part, "functionResponse", "function_response") {
            Some(response) => all.push(response_text(response)),
            None => all.extend(part_text(part).map(str::to_owned)),
        }
    }
    all.join("\n")
}

/// The output or the error as text, or else the JSON.
fn response_text(response: &Value) -> String {
    let content = response.get("response").unwrap_or(&Value::Null);
    let result = content.get("output").or_else(|| content.get("error"));
    match result.unwrap_or(content) {
        Value::String(text) => text.clone(),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    }
}
