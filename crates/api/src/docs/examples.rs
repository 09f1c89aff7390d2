//! Bodies that the pages show.

use domain::id::CargoId;
use domain::money::Money;
use domain::outcome::{ChatCompletion, Completion, StopReason, Text, Usage};
use domain::time::Timestamp;
use serde_json::{Value, json};
use wire::moment::Moment;
use wire::tracking::{Callback, Cost, Kind, Status, Tracking, Waiting, stored};

const CARGO: &str = "crg_019b76da807b774b805000000000002a";

/// Loads that can be executed as they are, but for the last two, whose model and file are yours
/// to name.
pub(super) fn loads() -> [(&'static str, Value); 6] {
    let hello = json!([{"role": "user", "content": "Say hello to the harbour."}]);
    [
        (
            "Chat with the free mock, to be polled",
            json!({"params": {"model": "svc-mock", "max_tokens": 64, "messages": hello}}),
        ),
        (
            "Chat with a callback and your own tags",
            json!({
                "params": {"model": "svc-mock", "max_tokens": 64, "messages": hello},
                "callback_url": "https://example.com/callbacks/longshore",
                "metadata": {"order": 7},
            }),
        ),
        (
            "Chat with everything",
            json!({"params": {
                "model": "svc-mock",
                "max_tokens": 256,
                "system": "Answer in one sentence.",
                "messages": [
                    {"role": "user", "content": "What is a berth?"},
                    {"role": "assistant", "content": "A place where a ship is moored."},
                    {"role": "user", "content": [
                        {"type": "text", "text": "And a quay?"},
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
            "A mock that fails after two seconds, to test your side",
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
            json!({"params": {"model": "your-embedding-model", "input_text": ["berth", "quay"]}}),
        ),
    ]
}

pub(super) fn cargo() -> CargoId {
    CARGO
        .parse()
        .unwrap_or_else(|_| CargoId::from_uuid(<_>::default()))
}

/// What the mock answers.
pub(super) fn response() -> Completion {
    Completion::Chat(ChatCompletion {
        id: "msg_019b76da807b774b805000000000002a".to_owned(),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![Text::of("Say hello to the harbour.".to_owned())],
        model: "svc-mock".to_owned(),
        stop_reason: StopReason::EndTurn,
        usage: Usage {
            input_tokens: 5,
            output_tokens: 5,
        },
    })
}

pub(super) fn pending() -> Tracking {
    Tracking {
        cargo_id: CARGO.to_owned(),
        status: Status::Pending,
        model: "svc-mock".to_owned(),
        kind: Kind::Chat,
        attempt: 1,
        created_at: moment("2026-11-15T09:30:00.000000Z"),
        batched_at: None,
        processing_at: None,
        completed_at: None,
        deadline_at: moment("2026-11-16T09:30:00.000000Z"),
        success: None,
        response: None,
        error: None,
        usage: None,
        cost: Cost::dollars(Money::ZERO, None, None),
        callback: None,
        waiting: Some(Waiting {
            reason: "waiting to be gathered into a batch".to_owned(),
            since: moment("2026-11-15T09:30:00.000000Z"),
            expected_at: None,
        }),
        metadata: None,
    }
}

pub(super) fn delivered() -> Tracking {
    Tracking {
        status: Status::Delivered,
        response: serde_json::to_vec(&response()).ok().and_then(stored),
        success: Some(true),
        usage: Some(response().usage().into()),
        cost: Cost::dollars(Money::ZERO, Some(Money::ZERO), None),
        callback: Some(Callback {
            url: "https://example.com/callbacks/longshore".to_owned(),
            attempts: 1,
            last_attempt_at: Some(moment("2026-11-15T09:31:00.120000Z")),
            last_status_code: Some(200),
            last_error: None,
            next_attempt_at: None,
            delivered_at: Some(moment("2026-11-15T09:31:00.180000Z")),
        }),
        metadata: stored(br#"{"order":7}"#.to_vec()),
        ..ended()
    }
}

pub(super) fn failed() -> Tracking {
    Tracking {
        success: Some(false),
        error: Some("storm".to_owned()),
        usage: Some(Usage::default().into()),
        cost: Cost::dollars(Money::ZERO, Some(Money::ZERO), None),
        ..ended()
    }
}

fn ended() -> Tracking {
    Tracking {
        status: Status::Completed,
        batched_at: Some(moment("2026-11-15T09:30:00.050000Z")),
        processing_at: Some(moment("2026-11-15T09:30:00.100000Z")),
        completed_at: Some(moment("2026-11-15T09:31:00.100000Z")),
        waiting: None,
        ..pending()
    }
}

fn moment(text: &str) -> Moment {
    Moment(text.parse::<Timestamp>().unwrap_or_default())
}
