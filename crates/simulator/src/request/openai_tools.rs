//! `OpenAI`'s tools, choices of tools and formats of answers.

use serde_json::{Value, json};

use super::openai_fields::check_object;
use super::{ToolMode, ToolSpec, is_tool_name, list, text_field};
use crate::invalid_request::InvalidRequest;
use crate::schema_rules::{check_openai_schema, check_openai_tool};

/// Where a function's fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolLayout {
    /// In `function`, as Chat Completions has it.
    Nested,
    /// In the tool, as the Responses API has it.
    Flat,
}

const FUNCTION_FIELDS: &[&str] = &["name", "description", "parameters", "strict"];

/// The function tools. Servers check nothing but the form.
pub(super) fn tools(
    body: &Value,
    layout: ToolLayout,
    is_checked: bool,
) -> Result<Vec<ToolSpec>, InvalidRequest> {
    let mut specs = Vec::new();
    for (index, tool) in list(body.get("tools")).iter().enumerate() {
        if text_field(tool, "type") != Some("function") {
            continue;
        }
        let (function, path) = match layout {
            ToolLayout::Nested => (
                tool.get("function").unwrap_or(&Value::Null),
                format!("tools[{index}].function"),
            ),
            ToolLayout::Flat => (tool, format!("tools[{index}]")),
        };
        let Some(name) = text_field(function, "name") else {
            let message = format!("Missing required parameter: '{path}.name'.");
            return Err(InvalidRequest::new(message)
                .param(format!("{path}.name"))
                .code("missing_required_parameter"));
        };
        if is_checked {
            check_function(function, layout, name, &path)?;
        }
        let schema = function.get("parameters").filter(|it| it.is_object());
        specs.push(ToolSpec {
            name: name.to_owned(),
            schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
        });
    }
    Ok(specs)
}

fn check_function(
    function: &Value,
    layout: ToolLayout,
    name: &str,
    path: &str,
) -> Result<(), InvalidRequest> {
    match layout {
        ToolLayout::Nested => check_object(function, FUNCTION_FIELDS, path)?,
        ToolLayout::Flat => {
            let known = ["type", "name", "description", "parameters", "strict"];
            check_object(function, &known, path)?;
        }
    }
    if !is_tool_name(name) {
        let message = format!(
            "Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(InvalidRequest::new(message)
            .param(format!("{path}.name"))
            .code("invalid_value"));
    }
    let parameters = function.get("parameters").filter(|it| !it.is_null());
    // The Responses API is strict unless told otherwise.
    let is_strict = function
        .get("strict")
        .and_then(Value::as_bool)
        .unwrap_or(layout == ToolLayout::Flat);
    let fault = match parameters {
        Some(schema) if is_strict => check_openai_schema(schema)
            .and_then(|()| check_openai_tool(schema))
            .err(),
        Some(schema) => check_openai_tool(schema).err(),
        None => None,
    };
    match fault {
        Some(fault) => Err(InvalidRequest::new(format!(
            "Invalid schema for function '{name}': {fault}"
        ))
        .param(format!("{path}.parameters"))
        .code("invalid_function_parameters")),
        None => Ok(()),
    }
}

/// What the model must do with the tools.
pub(super) fn tool_choice(
    body: &Value,
    layout: ToolLayout,
    tools: &[ToolSpec],
) -> Result<ToolMode, InvalidRequest> {
    let Some(choice) = body.get("tool_choice").filter(|it| !it.is_null()) else {
        return Ok(ToolMode::Auto);
    };
    if list(body.get("tools")).is_empty() && layout == ToolLayout::Nested {
        let message = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.";
        return Err(InvalidRequest::new(message).param("tool_choice"));
    }
    match choice.as_str() {
        Some("auto") => return Ok(ToolMode::Auto),
        Some("none") => return Ok(ToolMode::Off),
        Some("required") => return Ok(ToolMode::Required),
        Some(_) => {
            let message = format!(
                "Invalid value: {choice}. Supported values are: 'none', 'auto', and 'required'."
            );
            return Err(InvalidRequest::new(message)
                .param("tool_choice")
                .code("invalid_value"));
        }
        None => {}
    }
    let holder = match layout {
        ToolLayout::Nested => choice.get("function").unwrap_or(&Value::Null),
        ToolLayout::Flat => choice,
    };
    match text_field(holder, "name") {
        // `allowed_tools` and choices of built-in tools.
        None => Ok(ToolMode::Auto),
        Some(name) if tools.iter().any(|tool| tool.name == name) => {
            Ok(ToolMode::Named(name.to_owned()))
        }
        Some(name) => {
            let message = format!(
                "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' parameter."
            );
            Err(InvalidRequest::new(message).param("tool_choice"))
        }
    }
}

/// The schema of a format. `path` is the field that errors name.
pub(super) fn format_schema(
    format: &Value,
    holder: &Value,
    path: &str,
    is_checked: bool,
) -> Result<Option<Value>, InvalidRequest> {
    match text_field(format, "type") {
        Some("json_schema") => {}
        Some("json_object") => return Ok(Some(json!({"type": "object"}))),
        Some(_) | None => return Ok(None),
    }
    let schema = holder.get("schema").unwrap_or(&Value::Null);
    if !is_checked {
        return Ok(Some(schema.clone()));
    }
    let known = ["type", "name", "description", "schema", "strict"];
    check_object(holder, &known, path)?;
    let Some(name) = text_field(holder, "name") else {
        let message = format!("Missing required parameter: '{path}.name'.");
        return Err(InvalidRequest::new(message)
            .param(format!("{path}.name"))
            .code("missing_required_parameter"));
    };
    if !is_tool_name(name) {
        let message = format!(
            "Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(InvalidRequest::new(message).param(format!("{path}.name")));
    }
    let is_strict = holder.get("strict").and_then(Value::as_bool) == Some(true);
    if let Some(fault) = check_openai_schema(schema).err().filter(|_| is_strict) {
        let message = format!("Invalid schema for response_format '{name}': {fault}");
        return Err(InvalidRequest::new(message)
            .param(format!("{path}.schema"))
            .code("invalid_json_schema"));
    }
    Ok(Some(schema.clone()))
}
