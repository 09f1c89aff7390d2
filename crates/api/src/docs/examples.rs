//! The example bodies in the documentation.

use domain::id::CargoId;
use domain::money::Money;
use domain::outcome::{
    ChatCompletion, Completion, CompletionBlock, ReportedUsage, StopReason, TokenUsage,
};
use domain::reason_code::{FailureCode, WaitingCode};
use domain::time::Timestamp;
use serde_json::{Value, json};
use wire::timestamp::WireTimestamp;
use wire::tracking::{
    CallbackTrackingBody, CargoKindBody, CargoStatusBody, CostBody, TrackingResponse, WaitingBody,
    raw_json,
};

pub(super) const EXAMPLE_CARGO_ID: &str = "crg_019b76da807b774b805000000000002a";

/// The first can be executed unchanged. In the others, replace the model and the file.
pub(super) fn loads() -> Vec<(&'static str, Value)> {
    plain_loads().into_iter().chain(extended_loads()).collect()
}

fn plain_loads() -> [(&'static str, Value); 6] {
    let hello = json!([{"role": "user", "content": "Say hello to the world."}]);
    [
        (
            "Chat with the free mock model, result by polling",
            json!({"params": {"model": "svc-mock", "max_tokens": 64, "messages": hello}}),
        ),
        (
            "Chat with a callback and your own metadata",
            json!({
                "params": {"model": "svc-mock", "max_tokens": 64, "messages": hello},
                "callback_url": "https://example.com/callbacks/longshore",
                "metadata": {"order": 7},
            }),
        ),
        (
            "Chat with all parameters",
            json!({"params": {
                "model": "svc-mock",
                "max_tokens": 256,
                "system": "Answer in one sentence.",
                "messages": [
                    {"role": "user", "content": "What is a berth?"},
                    {"role": "assistant", "content": "A place where a ship is moored."},
                    {"role": "user", "content": [
                        {"type": "text", "text": "And a dock?"},
                        {"type": "text", "text": "Be brief."},
                    ]},
                ],
                "temperature": 0.7,
                "top_p": 0.9,
                "top_k": 40,
                "stop_sequences": ["END"],
            }}),
        ),
        (
            "A mock answer that fails after two seconds, to test your error handling",
            json!({"params": {
                "model": "svc-mock",
                "max_tokens": 64,
                "messages": [{"role": "user", "content": "[mock:delay=2s] [mock:fail=storm]"}],
            }}),
        ),
        (
            "A question about a file",
            json!({"params": {
                "model": "your-vision-model",
                "max_tokens": 64,
                "messages": [{"role": "user", "content": [
                    {"type": "image", "source": {"file_id": "file_019b76da807b774b805000000000002a"}},
                    {"type": "text", "text": "What is in the picture?"},
                ]}],
            }}),
        ),
        (
            "Embedding",
            json!({"params": {"model": "your-embedding-model", "input_text": ["berth", "dock"]}}),
        ),
    ]
}

/// Requests for models with more features.
fn extended_loads() -> [(&'static str, Value); 5] {
    let weather = json!([{
        "name": "get_weather",
        "description": "The weather of a city.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }]);
    [
        (
            "An answer as JSON of a schema",
            json!({"params": {
                "model": "your-model",
                "max_tokens": 256,
                "messages": [{"role": "user", "content": "Invoice 7: two anchors for 12.50 each."}],
                "output_config": {"format": {"type": "json_schema", "schema": {
                    "type": "object",
                    "properties": {"number": {"type": "integer"}, "total": {"type": "number"}},
                    "required": ["number", "total"],
                }}},
            }}),
        ),
        (
            "Tools, first turn",
            json!({"params": {
                "model": "your-model",
                "max_tokens": 256,
                "messages": [{"role": "user", "content": "Do I need an umbrella in Kiel?"}],
                "tools": weather,
                "tool_choice": {"type": "auto"},
            }}),
        ),
        (
            "Tools, second turn with the result",
            json!({"params": {
                "model": "your-model",
                "max_tokens": 256,
                "messages": [
                    {"role": "user", "content": "Do I need an umbrella in Kiel?"},
                    {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "toolu_1", "name": "get_weather",
                            "input": {"city": "Kiel"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 °C, rain"},
                    ]},
                ],
                "tools": weather,
            }}),
        ),
        (
            "Thinking, with a long system prompt that is cached",
            json!({"params": {
                "model": "your-model",
                "max_tokens": 4096,
                "system": [{"type": "text", "text": "The whole manual of the crane …",
                    "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
                "messages": [{"role": "user", "content": "May it lift 40 tons at 20 meters?"}],
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            }}),
        ),
        (
            "An answer within two hours",
            json!({
                "params": {
                    "model": "your-model",
                    "max_tokens": 64,
                    "messages": [{"role": "user", "content": "Say hello to the world."}],
                },
                "deadline_seconds": 7200,
            }),
        ),
    ]
}

pub(super) fn cargo_id() -> CargoId {
    EXAMPLE_CARGO_ID
        .parse()
        .unwrap_or_else(|_| CargoId::from_uuid(<_>::default()))
}

/// The answer of the mock model.
pub(super) fn response() -> Completion {
    Completion::Chat(ChatCompletion {
        id: "msg_019b76da807b774b805000000000002a".to_owned(),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![CompletionBlock::plain_text(
            "Say hello to the world.".to_owned(),
        )],
        model: "svc-mock".to_owned(),
        stop_reason: StopReason::EndTurn,
        stop_sequence: None,
        stop_details: None,
        usage: ReportedUsage::plain(TokenUsage {
            input_tokens: 5,
            output_tokens: 5,
        }),
    })
}

pub(super) fn pending() -> TrackingResponse {
    TrackingResponse {
        cargo_id: EXAMPLE_CARGO_ID.to_owned(),
        status: CargoStatusBody::Pending,
        model: "svc-mock".to_owned(),
        kind: CargoKindBody::Chat,
        attempt: 1,
        created_at: moment("2026-11-15T09:30:00.000000Z"),
        batched_at: None,
        processing_at: None,
        completed_at: None,
        deadline_at: moment("2026-11-16T09:30:00.000000Z"),
        success: None,
        response: None,
        error: None,
        error_code: None,
        usage: None,
        cost: CostBody::in_nano_dollars(Money::ZERO, None, None),
        callback: None,
        waiting: Some(WaitingBody {
            code: WaitingCode::WaitingForBatch.as_str(),
            reason: WaitingCode::WaitingForBatch.description().to_owned(),
            since: moment("2026-11-15T09:30:00.000000Z"),
            expected_at: None,
        }),
        metadata: None,
        erased_at: None,
        warnings: None,
        route: None,
        group_id: None,
        custom_id: None,
        position: None,
        cancel_requested_at: None,
    }
}

pub(super) fn delivered() -> TrackingResponse {
    TrackingResponse {
        status: CargoStatusBody::Delivered,
        response: serde_json::to_vec(&response()).ok().and_then(raw_json),
        success: Some(true),
        usage: Some(response().usage().into()),
        cost: CostBody::in_nano_dollars(Money::ZERO, Some(Money::ZERO), None),
        callback: Some(CallbackTrackingBody {
            url: "https://example.com/callbacks/longshore".to_owned(),
            attempts: 1,
            last_attempt_at: Some(moment("2026-11-15T09:31:00.120000Z")),
            last_status_code: Some(200),
            last_error: None,
            next_attempt_at: None,
            delivered_at: Some(moment("2026-11-15T09:31:00.180000Z")),
        }),
        metadata: raw_json(br#"{"order":7}"#.to_vec()),
        ..completed()
    }
}

pub(super) fn failed() -> TrackingResponse {
    TrackingResponse {
        success: Some(false),
        error: Some("storm".to_owned()),
        error_code: Some(FailureCode::RequestRejected.as_str().to_owned()),
        usage: Some(TokenUsage::default().into()),
        cost: CostBody::in_nano_dollars(Money::ZERO, Some(Money::ZERO), None),
        ..completed()
    }
}

fn completed() -> TrackingResponse {
    TrackingResponse {
        status: CargoStatusBody::Completed,
        batched_at: Some(moment("2026-11-15T09:30:00.050000Z")),
        processing_at: Some(moment("2026-11-15T09:30:00.100000Z")),
        completed_at: Some(moment("2026-11-15T09:31:00.100000Z")),
        waiting: None,
        ..pending()
    }
}

fn moment(text: &str) -> WireTimestamp {
    WireTimestamp(text.parse::<Timestamp>().unwrap_or_default())
}
