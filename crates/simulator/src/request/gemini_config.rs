//! Gemini's generation config, tools and tier.

use serde_json::{Value, json};

use super::google_fields::{check_names, field_by_names};
use super::{ThinkingMode, ToolMode, ToolSpec, list, strings, text_field};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::{GeminiRules, GeminiThinking};
use crate::schema_rules::check_gemini_schema;

const MAX_STOP_SEQUENCES: usize = 5;

const CONFIG_FIELDS: &[&str] = &[
    "audioTimestamp",
    "candidateCount",
    "enableEnhancedCivicAnswers",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseFormat",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

const TOOL_FIELDS: &[&str] = &[
    "codeExecution",
    "computerUse",
    "fileSearch",
    "functionDeclarations",
    "googleMaps",
    "googleSearch",
    "googleSearchRetrieval",
    "mcpServers",
    "urlContext",
];

pub(super) fn check(config: &Value) -> Result<(), InvalidRequest> {
    check_names(config, CONFIG_FIELDS, "generation_config")?;
    let stops = strings(field_by_names(config, "stopSequences", "stop_sequences"));
    if stops.len() > MAX_STOP_SEQUENCES {
        return Err("* GenerateContentRequest.generation_config.stop_sequences: at most 5 stop sequences are allowed".into());
    }
    Ok(())
}

pub(super) fn tools(request: &Value) -> Result<Vec<ToolSpec>, InvalidRequest> {
    let mut specs = Vec::new();
    for (index, tool) in list(request.get("tools")).iter().enumerate() {
        check_names(tool, TOOL_FIELDS, &format!("tools[{index}]"))?;
        let declarations = field_by_names(tool, "functionDeclarations", "function_declarations");
        for declaration in list(declarations) {
            specs.push(read_declaration(declaration, index)?);
        }
    }
    Ok(specs)
}

fn read_declaration(declaration: &Value, index: usize) -> Result<ToolSpec, InvalidRequest> {
    let path = format!("tools[{index}].function_declarations[0]");
    let known = [
        "name",
        "description",
        "behavior",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
    ];
    check_names(declaration, &known, &path)?;
    let name = text_field(declaration, "name").unwrap_or_default();
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_next = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    let is_name = name.starts_with(is_first) && name.chars().all(is_next) && name.len() <= 128;
    if !is_name {
        return Err("* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.".into());
    }
    let json_schema = field_by_names(
        declaration,
        "parametersJsonSchema",
        "parameters_json_schema",
    );
    if let Some(schema) = json_schema {
        check_gemini_schema(schema)?;
    }
    let schema = json_schema.or_else(|| declaration.get("parameters"));
    Ok(ToolSpec {
        name: name.to_owned(),
        schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
    })
}

pub(super) fn tool_mode(request: &Value, tools: &[ToolSpec]) -> Result<ToolMode, InvalidRequest> {
    let config = field_by_names(request, "toolConfig", "tool_config").unwrap_or(&Value::Null);
    let known = ["functionCallingConfig", "retrievalConfig"];
    check_names(config, &known, "tool_config")?;
    let calling = field_by_names(config, "functionCallingConfig", "function_calling_config");
    let Some(calling) = calling else {
        return Ok(ToolMode::Auto);
    };
    let path = "tool_config.function_calling_config";
    check_names(calling, &["mode", "allowedFunctionNames"], path)?;
    let allowed = field_by_names(calling, "allowedFunctionNames", "allowed_function_names");
    let allowed = strings(allowed);
    let mode = text_field(calling, "mode").unwrap_or("AUTO");
    if !allowed.is_empty() && mode != "ANY" && mode != "VALIDATED" {
        return Err(
            "Function calling config is set with allowed_function_names, but the mode is not ANY."
                .into(),
        );
    }
    let is_unknown = |name: &&String| !tools.iter().any(|tool| tool.name == **name);
    if let Some(name) = allowed.iter().find(is_unknown) {
        return Err(format!(
            "`allowed_function_names` should be a subset of the declared functions: '{name}' is not declared."
        )
        .into());
    }
    match mode {
        "AUTO" | "VALIDATED" | "MODE_UNSPECIFIED" => Ok(ToolMode::Auto),
        "NONE" => Ok(ToolMode::Off),
        "ANY" if tools.is_empty() => {
            Err("Function calling config is set without function_declarations.".into())
        }
        "ANY" => Ok(match allowed.as_slice() {
            [name] => ToolMode::Named(name.clone()),
            _ => ToolMode::Required,
        }),
        _ => Err(format!(
            "Invalid value at '{path}.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), \"{mode}\""
        )
        .into()),
    }
}

pub(super) fn response_schema(
    rules: &GeminiRules,
    config: &Value,
    has_tools: bool,
) -> Result<Option<Value>, InvalidRequest> {
    let mime_type = field_by_names(config, "responseMimeType", "response_mime_type");
    let is_json = mime_type.and_then(Value::as_str) == Some("application/json");
    let plain = field_by_names(config, "responseSchema", "response_schema");
    let json_schema = field_by_names(config, "responseJsonSchema", "response_json_schema");
    if plain.is_some() && json_schema.is_some() {
        return Err("Only one of response_schema and response_json_schema can be set.".into());
    }
    let schema = json_schema.or(plain);
    if schema.is_some() && !is_json {
        return Err(
            "Response schema is only supported with response mime type: 'application/json'".into(),
        );
    }
    if is_json && has_tools && !rules.combines_tools_and_json {
        return Err(
            "Function calling with a response mime type: 'application/json' is unsupported".into(),
        );
    }
    if let Some(schema) = json_schema {
        check_gemini_schema(schema)?;
    }
    let any = || is_json.then(|| json!({"type": "object"}));
    Ok(schema.cloned().or_else(any))
}

pub(super) fn thinking(
    rules: &GeminiRules,
    config: &Value,
) -> Result<ThinkingMode, InvalidRequest> {
    let config = field_by_names(config, "thinkingConfig", "thinking_config");
    let config = config.unwrap_or(&Value::Null);
    let known = ["thinkingBudget", "thinkingLevel", "includeThoughts"];
    check_names(config, &known, "generation_config.thinking_config")?;
    let budget = field_by_names(config, "thinkingBudget", "thinking_budget");
    let budget = budget.and_then(Value::as_i64);
    let level = field_by_names(config, "thinkingLevel", "thinking_level");
    let level = level.and_then(Value::as_str);
    if budget.is_some() && level.is_some() {
        return Err("You can only set only one of thinking budget and thinking level.".into());
    }
    check_amount(rules, budget, level)?;
    let includes = field_by_names(config, "includeThoughts", "include_thoughts");
    let includes = includes.and_then(Value::as_bool) == Some(true);
    let is_requested = level.is_some() || budget.is_some_and(|it| it != 0) || includes;
    let thinks = budget != Some(0) && (rules.thinks_by_default || is_requested);
    Ok(match (thinks, includes) {
        (false, _) => ThinkingMode::Off,
        (true, true) => ThinkingMode::Shown,
        (true, false) => ThinkingMode::Hidden,
    })
}

fn check_amount(
    rules: &GeminiRules,
    budget: Option<i64>,
    level: Option<&str>,
) -> Result<(), InvalidRequest> {
    match rules.thinking {
        GeminiThinking::Unrestricted => Ok(()),
        GeminiThinking::Budget { min, max, has_zero } => {
            if level.is_some() {
                return Err("Thinking level is not supported for this model.".into());
            }
            let is_accepted = |budget: i64| {
                budget == -1 || (budget == 0 && has_zero) || (min.max(1)..=max).contains(&budget)
            };
            match budget.filter(|budget| !is_accepted(*budget)) {
                Some(0) => Err("Budget 0 is invalid. This model only works in thinking mode.".into()),
                Some(budget) => Err(format!(
                    "The thinking budget {budget} is invalid. Please choose a value between {min} and {max}."
                )
                .into()),
                None => Ok(()),
            }
        }
        GeminiThinking::Levels(levels) => {
            if budget == Some(0) {
                return Err("Budget 0 is invalid. This model only works in thinking mode.".into());
            }
            let level = level.map(str::to_ascii_uppercase);
            match level.filter(|level| !levels.contains(&level.as_str())) {
                Some(level) => {
                    Err(format!("Thinking level {level} is not supported for this model.").into())
                }
                None => Ok(()),
            }
        }
    }
}

pub(super) fn tier(request: &Value) -> Result<Option<String>, InvalidRequest> {
    let tier = field_by_names(request, "serviceTier", "service_tier").and_then(Value::as_str);
    let Some(tier) = tier else {
        return Ok(None);
    };
    let name = tier.to_ascii_lowercase();
    match name.as_str() {
        "unspecified" => Ok(None),
        "flex" | "standard" | "priority" => Ok(Some(name)),
        _ => Err(format!("Invalid value at 'service_tier', \"{tier}\"").into()),
    }
}
