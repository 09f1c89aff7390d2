//! One result as a line of an output or error file.

use domain::outcome::Completion;
use domain::reason_code::FailureCode;
use serde_json::{Value, json};
use store::shard::group::GroupResultRow;

use crate::dropin::openai::answer::{AnswerIdentity, write_answer};
use crate::dropin::openai::endpoint::Endpoint;

/// The two files of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultFile {
    Output,
    Error,
}

/// The line of a result, if it belongs to this file. None also if the cargo is not completed.
pub(crate) fn result_line(
    row: &GroupResultRow,
    endpoint: Endpoint,
    file: ResultFile,
) -> Option<Value> {
    let (outcome, completed_at) = (row.outcome.as_ref()?, row.completed_at?);
    let belongs = if outcome.success {
        ResultFile::Output
    } else {
        ResultFile::Error
    };
    if belongs != file {
        return None;
    }
    let (response, error) = if row.erased_at.is_some() {
        let message = "The answer was erased by the retention of the project.";
        (Value::Null, item_error("answer_erased", message))
    } else if outcome.success {
        let identity = AnswerIdentity {
            cargo: row.cargo,
            created: completed_at.timestamp(),
        };
        if let Ok(answer) = serde_json::from_slice::<Completion>(&outcome.body) {
            let body = write_answer(endpoint, &answer, &identity);
            (response(row, 200, &body), Value::Null)
        } else {
            let message = "The stored answer cannot be read.";
            (Value::Null, item_error("answer_unreadable", message))
        }
    } else {
        let text = String::from_utf8_lossy(&outcome.body);
        failure(row, outcome.failure_code.as_deref(), &text)
    };
    let position = row.position;
    let custom_id = row.custom_id.clone();
    Some(json!({
        "id": format!("batch_req_{}", row.cargo.uuid().simple()),
        "custom_id": custom_id.unwrap_or_else(|| position.to_string()),
        "response": response,
        "error": error,
    }))
}

/// A failed request has a response with a status. One that never ran has an error instead.
fn failure(row: &GroupResultRow, code: Option<&str>, text: &str) -> (Value, Value) {
    let code = FailureCode::ALL.iter().find(|it| Some(it.as_str()) == code);
    match code {
        Some(FailureCode::Cancelled) => {
            let message = "This request was cancelled before it was run.";
            (Value::Null, item_error("batch_cancelled", message))
        }
        Some(FailureCode::DeadlineExceeded) => {
            let message = "This request could not be run before the completion window ended.";
            (Value::Null, item_error("batch_expired", message))
        }
        Some(code) => {
            let (status, kind) = if is_fault_of_request(*code) {
                (400, "invalid_request_error")
            } else {
                (500, "server_error")
            };
            let error = json!({
                "message": text, "type": kind, "param": null, "code": code.as_str(),
            });
            (response(row, status, &json!({"error": error})), Value::Null)
        }
        None => {
            let error = json!({
                "message": text, "type": "server_error", "param": null, "code": null,
            });
            (response(row, 500, &json!({"error": error})), Value::Null)
        }
    }
}

/// Whether a changed request may succeed.
const fn is_fault_of_request(code: FailureCode) -> bool {
    match code {
        FailureCode::RequestRejected
        | FailureCode::UnsupportedRequest
        | FailureCode::RequestTooLarge
        | FailureCode::FileMissing
        | FailureCode::ContentBlocked
        | FailureCode::UnsupportedStop => true,
        FailureCode::AttemptsExhausted
        | FailureCode::BatchRejected
        | FailureCode::DeadlineExceeded
        | FailureCode::ModelUnavailable
        | FailureCode::ProcessingInterrupted
        | FailureCode::RequestUnreadable
        | FailureCode::ResultNotStored
        | FailureCode::Cancelled => false,
    }
}

fn response(row: &GroupResultRow, status: u16, body: &Value) -> Value {
    json!({"status_code": status, "request_id": row.cargo.to_string(), "body": body})
}

fn item_error(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Adds a line. Some readers take these characters for the end of a line.
pub(crate) fn push_line(line: &Value, lines: &mut Vec<u8>) {
    let mut text = line.to_string();
    for (character, escaped) in [
        ('\u{85}', "\\u0085"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        if text.contains(character) {
            text = text.replace(character, escaped);
        }
    }
    lines.extend_from_slice(text.as_bytes());
    lines.push(b'\n');
}
