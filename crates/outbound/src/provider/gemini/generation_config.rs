//! `generationConfig`: limits, sampling, the form of the answer and how much the model thinks.

use std::ops::RangeInclusive;

use domain::features::{Features, SamplingSupport};
use domain::params::ChatParams;
use domain::params::thinking::{Effort, OutputFormat, Thinking, ThinkingDisplay};
use serde_json::{Value, json};

use crate::provider::media::UnsupportedItem;
use crate::provider::request_fields::{self, present_fields};

/// The name of this kind of provider in `provider_options`.
const OPTIONS_KIND: &str = "gemini";

/// The model decides how much it thinks.
const DYNAMIC_BUDGET: i64 = -1;

pub(super) fn encode(chat: &ChatParams, features: &Features) -> Result<Value, UnsupportedItem> {
    let is_sampled = features.sampling == SamplingSupport::Pass;
    let number = |value: Option<f64>| value.filter(|_| is_sampled).map(|it| json!(it));
    let top_k = chat.top_k.filter(|_| is_sampled && features.top_k);
    // The schema stays as the caller wrote it: Gemini takes open objects, too.
    let schema = chat.output_format().map(|format| {
        let OutputFormat::JsonSchema { schema, .. } = format;
        json!(schema)
    });
    let mut config = present_fields([
        (
            "maxOutputTokens",
            Some(json!(request_fields::max_tokens(chat, features))),
        ),
        ("temperature", number(chat.temperature)),
        ("topP", number(chat.top_p)),
        ("topK", top_k.map(|it| json!(it))),
        (
            "stopSequences",
            request_fields::stop_sequences(chat, features),
        ),
        ("seed", chat.seed.map(|it| json!(it))),
        (
            "responseMimeType",
            schema.as_ref().map(|_| json!("application/json")),
        ),
        ("responseJsonSchema", schema),
        ("thinkingConfig", thinking_config(chat, features)?),
    ]);
    // At the top of a request there is nothing for callers to choose.
    let options = request_fields::provider_options(chat, OPTIONS_KIND);
    request_fields::add_options(&mut config, options);
    Ok(Value::Object(config))
}

/// Models take a budget of tokens or a level, never both.
fn thinking_config(
    chat: &ChatParams,
    features: &Features,
) -> Result<Option<Value>, UnsupportedItem> {
    let effort = request_fields::effort(chat, features);
    let (budget, level) = match features.thinking.budget {
        Some((min, max)) => (thinking_budget(chat.thinking, effort, &(min..=max)), None),
        None => (None, thinking_level(chat.thinking, effort)?),
    };
    let display = chat.thinking.and_then(Thinking::display);
    let is_shown = display == Some(ThinkingDisplay::Summarized);
    if budget.is_none() && level.is_none() && !is_shown {
        return Ok(None);
    }
    Ok(Some(Value::Object(present_fields([
        ("thinkingBudget", budget.map(|it| json!(it))),
        ("thinkingLevel", level.map(|it| json!(it))),
        ("includeThoughts", is_shown.then_some(Value::Bool(true))),
    ]))))
}

fn thinking_budget(
    thinking: Option<Thinking>,
    effort: Option<Effort>,
    allowed: &RangeInclusive<u32>,
) -> Option<i64> {
    let by_effort = effort.map(|effort| {
        let tokens: u32 = match effort {
            Effort::Low => 1_024,
            Effort::Medium => 8_192,
            Effort::High | Effort::XHigh | Effort::Max => 24_576,
        };
        i64::from(tokens.max(*allowed.start()).min(*allowed.end()))
    });
    match thinking {
        Some(Thinking::Disabled) => Some(0),
        Some(Thinking::Enabled { budget_tokens, .. }) => Some(i64::from(budget_tokens)),
        // Some models do not think unless they are asked to.
        Some(Thinking::Adaptive { .. }) => by_effort.or(Some(DYNAMIC_BUDGET)),
        None => by_effort,
    }
}

fn thinking_level(
    thinking: Option<Thinking>,
    effort: Option<Effort>,
) -> Result<Option<&'static str>, UnsupportedItem> {
    match thinking {
        Some(Thinking::Disabled) => Ok(Some("MINIMAL")),
        Some(Thinking::Enabled { .. }) => Err(UnsupportedItem::new(
            "the model does not support budget_tokens",
        )),
        Some(Thinking::Adaptive { .. }) | None => Ok(effort.map(|effort| match effort {
            Effort::Low => "LOW",
            Effort::Medium => "MEDIUM",
            Effort::High | Effort::XHigh | Effort::Max => "HIGH",
        })),
    }
}
