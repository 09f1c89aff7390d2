//! Requests and answers of the `OpenAI` API: Chat Completions, Responses, and servers.

mod answers;
mod conversations;
mod request_fields;
mod responses_answers;

use std::fmt::Write as _;

use domain::features::{Features, PromptCaching, ThinkingSupport, ToolSupport};
use domain::params::thinking::Effort;
use domain::route::{ChatApi, Route};
use serde_json::{Map, Value, json};

use super::{ServerDialect, parse_response, request_body};
use crate::provider::fixtures::{FixtureMedia, describe, item, key, route};
use crate::provider::media::UnsupportedItem;

/// The ways to ask for a chat.
const WAYS: [(&str, ChatApi, ServerDialect); 3] = [
    ("chat", ChatApi::Completions, ServerDialect::OpenAi),
    ("responses", ChatApi::Responses, ServerDialect::OpenAi),
    ("server", ChatApi::Completions, ServerDialect::SelfHosted),
];

/// A route of a current model.
fn capable_route(api: ChatApi) -> Route {
    Route {
        api,
        features: Features {
            tools: ToolSupport::Parallel,
            tool_result_files: true,
            thinking: ThinkingSupport {
                adaptive: true,
                efforts: Effort::ALL.to_vec(),
                ..ThinkingSupport::none()
            },
            caching: PromptCaching::Marks,
            max_stop_sequences: 4,
            ..Features::plain()
        },
        ..route()
    }
}

/// A short chat with some fields more, or with other messages.
fn chat(fields: &Value) -> Value {
    let mut chat = json!({
        "model": "ours", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}],
    });
    let fields = fields.as_object().unwrap().clone();
    chat.as_object_mut().unwrap().extend(fields);
    chat
}

fn body(
    fields: &Value,
    route: &Route,
    dialect: ServerDialect,
) -> Result<Map<String, Value>, UnsupportedItem> {
    request_body(&item(chat(fields)), route, &FixtureMedia, dialect)
}

/// What the fields change in the request, each way.
fn changes(fields: &Value) -> String {
    changes_by(fields, |route| route)
}

fn changes_by(fields: &Value, adapt: impl Fn(Route) -> Route) -> String {
    let mut rows = String::new();
    for (name, api, dialect) in WAYS {
        let route = adapt(capable_route(api));
        let plain = body(&json!({}), &route, dialect).unwrap();
        let text = match body(fields, &route, dialect) {
            Ok(body) => {
                let all = body.into_iter();
                let changed = all.filter(|(name, value)| plain.get(name) != Some(value));
                Value::Object(changed.collect()).to_string()
            }
            Err(unsupported) => format!("unsupported: {unsupported}"),
        };
        writeln!(rows, "{name}: {text}").unwrap();
    }
    rows
}

fn described_response(body: &Value) -> String {
    describe(&parse_response(&body.to_string(), key()))
}
