//! Anthropic's tools, structured outputs, thinking, sampling and cache marks.

use serde_json::Value;

use super::{ThinkingMode, ToolMode, ToolSpec, is_tool_name, list, text_field};
use crate::invalid_request::InvalidRequest;
use crate::known_fields::unknown_field;
use crate::model_rules::AnthropicRules;
use crate::schema_rules::{check_anthropic_schema, check_anthropic_tool};

const MAX_CACHE_MARKS: usize = 4;
const MAX_STRICT_TOOLS: usize = 20;
const MIN_THINKING_BUDGET: u64 = 1024;

/// Refuses an object with a field that is not known.
pub(super) fn check_object(
    object: &Value,
    known: &[&str],
    path: &str,
) -> Result<(), InvalidRequest> {
    match unknown_field(object, known) {
        Some(name) => Err(format!("{path}.{name}: Extra inputs are not permitted").into()),
        None => Ok(()),
    }
}

pub(super) fn tools(params: &Value) -> Result<Vec<ToolSpec>, InvalidRequest> {
    let mut specs = Vec::new();
    let mut strict_tools = 0;
    for (index, tool) in list(params.get("tools")).iter().enumerate() {
        // Server tools have other types.
        if text_field(tool, "type").is_some_and(|kind| kind != "custom") {
            continue;
        }
        let path = format!("tools.{index}.custom");
        let known = [
            "type",
            "name",
            "description",
            "input_schema",
            "strict",
            "cache_control",
            "input_examples",
        ];
        check_object(tool, &known, &path)?;
        let name = text_field(tool, "name").unwrap_or_default();
        if !is_tool_name(name) {
            return Err(format!(
                "{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
            )
            .into());
        }
        if specs.iter().any(|spec: &ToolSpec| spec.name == name) {
            return Err("tools: Tool names must be unique.".into());
        }
        let schema = tool.get("input_schema").unwrap_or(&Value::Null);
        if text_field(schema, "type") != Some("object") {
            return Err(format!("{path}.input_schema.type: Input should be 'object'").into());
        }
        check_anthropic_tool(schema).map_err(|fault| format!("{path}.input_schema: {fault}"))?;
        if tool.get("strict").and_then(Value::as_bool) == Some(true) {
            strict_tools += 1;
            check_anthropic_schema(schema)
                .map_err(|fault| format!("{path}.input_schema: {fault}"))?;
        }
        specs.push(ToolSpec {
            name: name.to_owned(),
            schema: schema.clone(),
        });
    }
    if strict_tools > MAX_STRICT_TOOLS {
        return Err("tools: Too many strict tools (limit: 20)".into());
    }
    Ok(specs)
}

pub(super) fn tool_choice(params: &Value, tools: &[ToolSpec]) -> Result<ToolMode, InvalidRequest> {
    let Some(choice) = params.get("tool_choice").filter(|it| !it.is_null()) else {
        return Ok(ToolMode::Auto);
    };
    let known = ["type", "name", "disable_parallel_tool_use"];
    check_object(choice, &known, "tool_choice")?;
    if list(params.get("tools")).is_empty() {
        return Err("tool_choice: tool_choice may only be specified while providing tools".into());
    }
    let mode = match text_field(choice, "type") {
        Some("auto") => ToolMode::Auto,
        Some("none") => ToolMode::Off,
        Some("any") => ToolMode::Required,
        Some("tool") => ToolMode::Named(text_field(choice, "name").unwrap_or_default().to_owned()),
        Some(_) | None => {
            return Err("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'".into());
        }
    };
    if let ToolMode::Named(name) = &mode
        && !tools.iter().any(|tool| tool.name == *name)
    {
        return Err(format!("tool_choice: Tool '{name}' not found in provided tools").into());
    }
    let thinking = params.pointer("/thinking/type").and_then(Value::as_str);
    let is_forced = matches!(mode, ToolMode::Required | ToolMode::Named(_));
    if is_forced && thinking == Some("enabled") {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".into());
    }
    Ok(mode)
}

pub(super) fn output_format(
    rules: &AnthropicRules,
    params: &Value,
) -> Result<Option<Value>, InvalidRequest> {
    let config = params.get("output_config").unwrap_or(&Value::Null);
    check_object(config, &["effort", "format"], "output_config")?;
    if let Some(effort) = text_field(config, "effort") {
        let known = ["low", "medium", "high", "xhigh", "max"];
        if !known.contains(&effort) {
            return Err(
                "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
                    .into(),
            );
        }
        if rules.efforts.is_some_and(|it| !it.contains(&effort)) {
            return Err("This model does not support the effort parameter with this value.".into());
        }
        let thinking = params.pointer("/thinking/type").and_then(Value::as_str);
        let is_high = effort == "xhigh" || effort == "max";
        if is_high && rules.thinks_by_default && thinking == Some("disabled") {
            return Err(format!(
                "thinking.type: 'disabled' is not supported with effort '{effort}' on this model."
            )
            .into());
        }
    }
    let Some(format) = config.get("format").filter(|it| !it.is_null()) else {
        return Ok(None);
    };
    check_object(format, &["type", "schema"], "output_config.format")?;
    if text_field(format, "type") != Some("json_schema") {
        return Err("output_config.format.type: Input should be 'json_schema'".into());
    }
    let schema = format.get("schema").unwrap_or(&Value::Null);
    check_anthropic_schema(schema)
        .map_err(|fault| format!("output_config.format.schema: {fault}"))?;
    Ok(Some(schema.clone()))
}

pub(super) fn thinking(
    rules: &AnthropicRules,
    params: &Value,
    max_tokens: u64,
) -> Result<ThinkingMode, InvalidRequest> {
    let mode = |display: Option<&str>| match display.unwrap_or(rules.default_display) {
        "omitted" => ThinkingMode::Hidden,
        _ => ThinkingMode::Shown,
    };
    let Some(thinking) = params.get("thinking").filter(|it| !it.is_null()) else {
        return Ok(if rules.thinks_by_default {
            mode(None)
        } else {
            ThinkingMode::Off
        });
    };
    check_object(thinking, &["type", "budget_tokens", "display"], "thinking")?;
    let kind = text_field(thinking, "type").unwrap_or_default();
    let known = ["adaptive", "enabled", "disabled", "between_tools"];
    if !known.contains(&kind) {
        return Err(format!(
            "thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
        .into());
    }
    if rules.thinking_types.is_some_and(|it| !it.contains(&kind)) {
        return Err(format!("\"thinking.type.{kind}\" is not supported for this model.").into());
    }
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    match (kind, budget) {
        ("enabled", None) => return Err("thinking.enabled.budget_tokens: Field required".into()),
        ("enabled", Some(budget)) if budget < MIN_THINKING_BUDGET => {
            return Err(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
                    .into(),
            );
        }
        ("enabled", Some(budget)) if budget >= max_tokens => {
            return Err("`max_tokens` must be greater than `thinking.budget_tokens`.".into());
        }
        ("enabled", Some(_)) | (_, None) => {}
        (_, Some(_)) => {
            return Err(
                format!("thinking.{kind}.budget_tokens: Extra inputs are not permitted").into(),
            );
        }
    }
    Ok(match kind {
        "disabled" => ThinkingMode::Off,
        _ => mode(text_field(thinking, "display")),
    })
}

pub(super) fn check_sampling(
    rules: &AnthropicRules,
    params: &Value,
    thinking: ThinkingMode,
) -> Result<(), InvalidRequest> {
    let number = |name: &str| params.get(name).and_then(Value::as_f64);
    let (temperature, top_p, top_k) = (number("temperature"), number("top_p"), number("top_k"));
    if temperature.is_some_and(|it| !(0.0..=1.0).contains(&it)) {
        return Err("temperature: range: 0..1".into());
    }
    let changes = |value: Option<f64>| value.filter(|it| (it - 1.0).abs() > f64::EPSILON);
    if !rules.takes_sampling {
        let sent = [
            ("temperature", changes(temperature)),
            ("top_p", changes(top_p)),
            ("top_k", top_k),
        ];
        if let Some((name, _)) = sent.into_iter().find(|(_, value)| value.is_some()) {
            return Err(format!("`{name}` is deprecated for this model.").into());
        }
    }
    if thinking != ThinkingMode::Off && params.get("thinking").is_some() {
        if changes(temperature).is_some() {
            return Err(
                "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
                    .into(),
            );
        }
        if top_k.is_some() {
            return Err(
                "`top_k` must be unset when thinking is enabled or in adaptive mode.".into(),
            );
        }
        if top_p.is_some_and(|it| it < 0.95) {
            return Err("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.".into());
        }
    }
    // Models before 4.5 and unknown names take both.
    if rules.thinking_types.is_some() && temperature.is_some() && top_p.is_some() {
        return Err("`temperature` and `top_p` cannot both be specified for this model. Please use only one.".into());
    }
    Ok(())
}

/// At most four marks, and those for an hour before those for five minutes.
pub(super) fn check_cache_marks(params: &Value) -> Result<(), InvalidRequest> {
    let mut marks = Vec::new();
    for name in ["tools", "system", "messages"] {
        collect_marks(params.get(name).unwrap_or(&Value::Null), &mut marks);
    }
    marks.extend(params.get("cache_control"));
    let mut has_short = false;
    for mark in &marks {
        check_object(mark, &["type", "ttl"], "cache_control")?;
        if text_field(mark, "type") != Some("ephemeral") {
            return Err("cache_control.type: Input should be 'ephemeral'".into());
        }
        match text_field(mark, "ttl") {
            Some("5m") | None => has_short = true,
            Some("1h") if has_short => {
                return Err("A ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.".into());
            }
            Some("1h") => {}
            Some(_) => return Err("cache_control.ttl: Input should be '5m' or '1h'".into()),
        }
    }
    if marks.len() > MAX_CACHE_MARKS {
        return Err(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {}.",
            marks.len()
        )
        .into());
    }
    Ok(())
}

/// The marks of blocks, tools and tool results. Schemas and inputs are the caller's own objects.
fn collect_marks<'a>(value: &'a Value, marks: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            if let Some(content) = fields.get("content") {
                collect_marks(content, marks);
            }
            marks.extend(fields.get("cache_control").filter(|it| !it.is_null()));
        }
        Value::Array(items) => {
            for item in items {
                collect_marks(item, marks);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
