//! A request of `/v1/responses` as `params`.

use serde_json::{Map, Value, json};

use super::conversation::{ConversationWriter, TurnContent};
use super::defaults::{ConversionDefaults, ConvertedRequest};
use super::fault::RequestFault;
use super::fields::Fields;
use super::tools::{self, FunctionForm};
use super::{options, responses_input};

/// What an answer contains without being asked for it.
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";
const STATE_ADVICE: &str = "Longshore stores no conversations. Send the whole conversation in \
                            input.";

pub(super) fn convert(
    body: Map<String, Value>,
    defaults: &ConversionDefaults,
) -> Result<ConvertedRequest, RequestFault> {
    let mut body = Fields::of_body(body);
    let limits = ["max_output_tokens"];
    let mut params = options::begin_params(&mut body, &limits, defaults)?;
    let mut conversation = ConversationWriter::default();
    if let Some(instructions) = body.text("instructions")? {
        conversation.add_instructions(instructions);
    }
    match body.require("input")? {
        Value::String(text) => conversation.add_user(TurnContent::Text(text)),
        Value::Array(items) => responses_input::add_items(items, &mut conversation, defaults)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let expected = "a string or an array of items";
            return Err(RequestFault::wrong_type("input", expected));
        }
    }
    conversation.write(&mut params);
    options::put_sampling(&mut body, &mut params)?;
    tools::put_tools(&mut body, FunctionForm::Flat, &mut params)?;
    let mut output_config = Map::new();
    put_text(&mut body, &mut output_config, &mut params)?;
    put_reasoning(&mut body, &mut output_config, &mut params)?;
    if !output_config.is_empty() {
        params.insert("output_config".to_owned(), Value::Object(output_config));
    }
    let metadata = options::read_metadata(&mut body)?;
    accept_defaults(&mut body)?;
    body.finish()?;
    Ok(ConvertedRequest { params, metadata })
}

fn put_text(
    body: &mut Fields,
    output_config: &mut Map<String, Value>,
    params: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    let Some(mut text) = body.object("text")? else {
        return Ok(());
    };
    if let Some(mut format) = text.object("format")? {
        match format.required_text("type")?.as_str() {
            "text" => format.finish()?,
            "json_schema" => options::put_schema(format, output_config)?,
            _ => return Err(options::unsupported_format(&format.path("type"))),
        }
    }
    if let Some(verbosity) = text.text("verbosity")?
        && verbosity != "medium"
    {
        options::put_option("verbosity", json!(verbosity), params);
    }
    text.finish()
}

/// How much the model thinks, and whether its thoughts are summarized.
fn put_reasoning(
    body: &mut Fields,
    output_config: &mut Map<String, Value>,
    params: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    let Some(mut reasoning) = body.object("reasoning")? else {
        return Ok(());
    };
    let summary = reasoning.text("summary")?;
    if let Some(effort) = reasoning.text("effort")? {
        let path = reasoning.path("effort");
        options::put_effort(&effort, &path, output_config, params)?;
    }
    if let Some(summary) = summary {
        if summary != "auto" {
            let advice = "Use auto: the provider chooses the length of the summary.";
            let path = reasoning.path("summary");
            return Err(RequestFault::unsupported_value(&path, advice));
        }
        // A model that does not think has nothing to summarize.
        let summarized = json!({"type": "adaptive", "display": "summarized"});
        params.entry("thinking").or_insert(summarized);
    }
    reasoning.refuse(&["generate_summary"], "Use summary.")?;
    reasoning.finish()
}

/// Fields that may only ask for what happens anyway.
fn accept_defaults(body: &mut Fields) -> Result<(), RequestFault> {
    options::accept_common(body)?;
    let advice = "Leave it out: a request that is too long is refused.";
    body.accept_only("truncation", &[json!("disabled")], advice)?;
    let advice = "Leave it out: a batch is always in the background.";
    body.accept_only("background", &[json!(false)], advice)?;
    body.refuse(&["previous_response_id", "conversation"], STATE_ADVICE)?;
    let include = body.list("include")?.unwrap_or_default();
    if include.iter().any(|it| it != ENCRYPTED_REASONING) {
        let advice = "Leave it out: answers have no other extra parts.";
        return Err(RequestFault::unsupported_value("include", advice));
    }
    Ok(())
}
