//! Requests, results and operations of Gemini.

mod contents;
mod operations;
mod requests;
mod results;

use domain::features::Features;
use domain::route::{InferenceMode, Route};
use serde_json::{Value, json};

use crate::provider::BatchItem;
use crate::provider::fixtures::{self, FixtureMedia, item};
use crate::provider::gemini::request_line;

fn encoded(item: &BatchItem, features: Features) -> String {
    let route = Route {
        features,
        ..Route::plain("gemini", "theirs", InferenceMode::Batch)
    };
    request_line::encode(item, &route, &FixtureMedia).map_or_else(
        |unsupported| format!("unsupported: {unsupported}"),
        fixtures::line_text,
    )
}

fn encoded_line(item: &BatchItem) -> String {
    encoded(item, Features::plain())
}

fn chat(fields: &Value) -> BatchItem {
    let mut params = json!({
        "model": "ours", "max_tokens": 2000, "messages": [{"role": "user", "content": "Hi"}],
    });
    let params_fields = params.as_object_mut().unwrap();
    params_fields.extend(fields.as_object().unwrap().clone());
    item(params)
}

/// The request, or why it is unsupported as a text.
fn encoded_request(fields: &Value, features: Features) -> Value {
    let line = encoded(&chat(fields), features);
    let parsed = serde_json::from_str::<Value>(&line);
    parsed.map_or_else(|_| Value::String(line), |line| line["request"].clone())
}
