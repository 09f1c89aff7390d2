//! Encodes one request of a batch.

use domain::features::{Features, PromptCaching, SamplingSupport};
use domain::params::content::SystemPrompt;
use domain::params::thinking::{OutputFormat, Thinking};
use domain::params::tools::Tool;
use domain::params::{ChatParams, Params};
use domain::route::Route;
use domain::schema_dialect::close_objects;
use domain::tenant_hash::tenant_hash;
use serde_json::{Value, json};

use super::messages::{self, is_blank, with_cache_mark};
use crate::provider::BatchItem;
use crate::provider::media::{MediaSource, UnsupportedItem};
use crate::provider::request_fields::{self, present_fields};

/// The name of this kind of provider in `provider_options`.
const OPTIONS_KIND: &str = "anthropic";

/// A model that thinks refuses a smaller `top_p`.
const MIN_TOP_P_WITH_THINKING: f64 = 0.95;

pub(super) fn encode(
    item: &BatchItem,
    route: &Route,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, UnsupportedItem> {
    let Params::Chat(chat) = &item.params else {
        return Err(UnsupportedItem::new(
            "the provider does not offer embeddings",
        ));
    };
    let user = tenant_hash(item.organization, &route.upstream_model);
    let params = params(chat, &user, route, media)?;
    let line = json!({"custom_id": item.key(), "params": params});
    Ok(format!("{line}\n").into_bytes())
}

/// The provider validates these only when the item runs, hours later.
fn params(
    chat: &ChatParams,
    user: &str,
    route: &Route,
    media: &dyn MediaSource,
) -> Result<Value, UnsupportedItem> {
    let features = &route.features;
    let caching = features.caching;
    let messages = messages::encode(&chat.messages, media, caching)?;
    let sampling = SamplingFields::of(chat, features);
    let tools = chat.tools.iter().map(|it| tool(it, caching));
    let tools: Vec<Value> = tools.collect();
    let request_mark = chat
        .cache_control
        .filter(|_| caching == PromptCaching::Marks);
    let mut params = present_fields([
        ("model", Some(json!(route.upstream_model))),
        (
            "max_tokens",
            Some(json!(request_fields::max_tokens(chat, features))),
        ),
        // One organization that breaks the provider's rules is not the whole account.
        ("metadata", Some(json!({"user_id": user}))),
        ("tools", (!tools.is_empty()).then_some(Value::Array(tools))),
        ("tool_choice", chat.tool_choice.as_ref().map(|it| json!(it))),
        (
            "system",
            chat.system.as_ref().and_then(|it| system(it, caching)),
        ),
        ("messages", Some(Value::Array(messages))),
        ("thinking", chat.thinking.map(|it| json!(it))),
        ("output_config", output_config(chat, features)),
        ("temperature", sampling.temperature.map(|it| json!(it))),
        ("top_p", sampling.top_p.map(|it| json!(it))),
        ("top_k", sampling.top_k.map(|it| json!(it))),
        (
            "stop_sequences",
            request_fields::stop_sequences(chat, features),
        ),
        ("cache_control", request_mark.map(|it| json!(it))),
    ]);
    let options = request_fields::provider_options(chat, OPTIONS_KIND);
    request_fields::add_options(&mut params, options);
    Ok(Value::Object(params))
}

/// None if it is blank.
fn system(system: &SystemPrompt, caching: PromptCaching) -> Option<Value> {
    match system {
        SystemPrompt::Text(text) => (!is_blank(text)).then(|| json!(text)),
        SystemPrompt::Blocks(blocks) => {
            let blocks = blocks.iter().filter(|block| !is_blank(block.text()));
            let blocks = blocks.map(|block| {
                let text = json!({"type": "text", "text": block.text()});
                with_cache_mark(text, block.cache_control(), caching)
            });
            let blocks: Vec<Value> = blocks.collect();
            (!blocks.is_empty()).then_some(Value::Array(blocks))
        }
    }
}

fn tool(tool: &Tool, caching: PromptCaching) -> Value {
    let fields = present_fields([
        ("name", Some(json!(tool.name))),
        ("description", tool.description.as_ref().map(|it| json!(it))),
        ("input_schema", Some(json!(tool.input_schema))),
        ("strict", tool.strict.map(|it| json!(it))),
    ]);
    with_cache_mark(Value::Object(fields), tool.cache_control, caching)
}

fn output_config(chat: &ChatParams, features: &Features) -> Option<Value> {
    let format = chat.output_format().map(|format| {
        let OutputFormat::JsonSchema { schema, .. } = format;
        json!({"type": "json_schema", "schema": close_objects(schema)})
    });
    let effort = request_fields::effort(chat, features);
    let config = present_fields([("format", format), ("effort", effort.map(|it| json!(it)))]);
    (!config.is_empty()).then_some(Value::Object(config))
}

/// `temperature`, `top_p` and `top_k`, as far as the model takes them.
#[derive(Debug, Default)]
struct SamplingFields {
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<i64>,
}

impl SamplingFields {
    fn of(chat: &ChatParams, features: &Features) -> Self {
        let is_thinking = match chat.thinking {
            Some(Thinking::Adaptive { .. } | Thinking::Enabled { .. }) => true,
            Some(Thinking::Disabled) | None => false,
        };
        match features.sampling {
            SamplingSupport::Drop | SamplingSupport::Refuse => Self::default(),
            SamplingSupport::Pass if is_thinking => Self {
                top_p: chat.top_p.filter(|it| *it >= MIN_TOP_P_WITH_THINKING),
                ..Self::default()
            },
            // The provider refuses both together.
            SamplingSupport::Pass => Self {
                temperature: chat.temperature,
                top_p: chat.top_p.filter(|_| chat.temperature.is_none()),
                top_k: chat.top_k.filter(|_| features.top_k),
            },
        }
    }
}
