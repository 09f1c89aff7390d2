//! Requests that are loaded together, and what their results mean for the run.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use client::canonical_json;
use client::client_error::{ApiErrorAnswer, ClientError};
use client::records::{BulkAnswer, BulkItemAnswer};
use client::retry::{FailedRequest, RetryWait, decide};
use serde_json::{Value, json};

use crate::cli_error::CliError;
use crate::exit_status::ExitStatus;
use crate::requests::request_file;
use crate::requests::request_line::ParsedRequest;
use crate::run::answer_store::NewAnswer;

/// The service takes 1,000 items in one request.
pub const MAX_CHUNK_ITEMS: usize = 1_000;
/// The service takes 10 MB. Less keeps the memory of a run small.
pub const MAX_CHUNK_BYTES: usize = 4 * 1024 * 1024;
const CONFLICT: u16 = 409;
const TOO_MANY_REQUESTS: u16 = 429;

/// A request of a run, as one line of a bulk load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkItem {
    pub position: u64,
    pub custom_id: String,
    pub line: Bytes,
}

/// What became of the items of a chunk.
#[derive(Debug, Default, PartialEq)]
pub struct ChunkResult {
    pub accepted: u64,
    /// Items that the service will never take: their answers are failures.
    pub failures: Vec<NewAnswer>,
    /// Items to send again, after the longest of their waits.
    pub again: Vec<BulkItem>,
    pub wait: Option<RetryWait>,
    /// The run cannot go on.
    pub fatal: Option<CliError>,
}

impl BulkItem {
    pub fn new(request: ParsedRequest, position: u64, group_id: &str) -> Self {
        let custom_id = request_file::custom_id(&request, position);
        let mut load = request.load;
        load.insert("custom_id".to_owned(), json!(custom_id));
        load.insert("group_id".to_owned(), json!(group_id));
        load.insert("position".to_owned(), json!(position));
        let line = canonical_json::to_bytes(&Value::Object(load));
        Self {
            position,
            custom_id,
            line,
        }
    }
}

/// One line per item.
pub fn write_body(items: &[BulkItem]) -> Bytes {
    let length = items.iter().map(|item| item.line.len() + 1).sum();
    let mut body = BytesMut::with_capacity(length);
    for item in items {
        body.put_slice(&item.line);
        body.put_u8(b'\n');
    }
    body.freeze()
}

/// Sorts the items by what the service answered. An item without an answer is sent again.
pub fn sort_results(items: Vec<BulkItem>, answer: &BulkAnswer, attempt: u32) -> ChunkResult {
    let mut sorted = ChunkResult::default();
    for (index, item) in items.into_iter().enumerate() {
        let result = answer.results.get(index);
        let result = result.filter(|result| result.index == index);
        match result {
            Some(result) if result.status < 300 => sorted.accepted += 1,
            Some(result) => sort_refused(item, result, attempt, &mut sorted),
            None => sorted.again.push(item),
        }
    }
    sorted
}

fn sort_refused(item: BulkItem, result: &BulkItemAnswer, attempt: u32, sorted: &mut ChunkResult) {
    let mut refusal = ApiErrorAnswer::from_detail(result.status, result.detail.clone());
    let given = result.retry_after_seconds;
    refusal.retry_after_seconds = given.or(refusal.retry_after_seconds);
    let wait = decide(&FailedRequest {
        method: "POST",
        has_idempotency_key: true,
        is_idempotent: true,
        was_sent: true,
        status: Some(refusal.status),
        code: refusal.code.as_deref(),
        retry_after: refusal
            .retry_after_seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        should_retry: None,
        attempt,
    });
    if let Some(wait) = wait {
        let longest = sorted.wait.filter(|known| known.max > wait.max);
        sorted.wait = Some(longest.unwrap_or(wait));
        sorted.again.push(item);
        return;
    }
    let code = refusal.code.as_deref();
    // Each other item would get the same answer.
    let is_fatal = matches!(
        result.status,
        401 | 402 | 403 | 404 | CONFLICT | TOO_MANY_REQUESTS
    ) && code != Some("key_model_not_allowed");
    if is_fatal {
        sorted.fatal = Some(fatal_error(&item, refusal));
        return;
    }
    sorted.failures.push(failure(&item, &refusal));
}

fn fatal_error(item: &BulkItem, refusal: ApiErrorAnswer) -> CliError {
    let code = refusal.code.clone();
    let error = CliError::from(ClientError::Refused(Box::new(refusal)));
    match code.as_deref() {
        Some("custom_id_reused" | "position_taken" | "group_sealed") => CliError {
            exit: ExitStatus::Failed,
            ..error.with_next(format!(
                "The run has another request under custom_id {}. Choose another --name.",
                item.custom_id
            ))
        },
        Some(_) | None => error,
    }
}

/// The answer of a request that the service refused.
fn failure(item: &BulkItem, refusal: &ApiErrorAnswer) -> NewAnswer {
    let code = refusal.code.as_deref().unwrap_or(refusal.class);
    failure_answer(item.position, &item.custom_id, &refusal.message, code)
}

/// A line in the form of the service's results, for a request that never became a cargo.
pub fn failure_answer(position: u64, custom_id: &str, error: &str, code: &str) -> NewAnswer {
    let line = json!({
        "number": null,
        "position": position,
        "custom_id": custom_id,
        "cargo_id": null,
        "success": false,
        "response": null,
        "error": error,
        "error_code": code,
    });
    NewAnswer {
        number: 0,
        position,
        is_success: false,
        charged: 0,
        line: line.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(position: u64) -> BulkItem {
        let load = json!({"params": {"model": "m"}});
        let request = ParsedRequest {
            custom_id: None,
            load: load.as_object().unwrap().clone(),
        };
        BulkItem::new(request, position, "grp_1")
    }

    fn result(index: usize, status: u16, detail: Value) -> BulkItemAnswer {
        BulkItemAnswer {
            index,
            status,
            cargo_id: None,
            replay: false,
            detail,
            retry_after_seconds: None,
        }
    }

    #[test]
    fn an_item_names_its_place_in_the_group() {
        let expected =
            r#"{"custom_id":"7","group_id":"grp_1","params":{"model":"m"},"position":7}"#;
        assert_eq!(item(7).line, expected);
        assert_eq!(write_body(&[item(7)]), format!("{expected}\n"));
    }

    #[test]
    fn each_item_is_accepted_failed_or_sent_again() {
        let limited =
            json!({"error": "rate_limit_exceeded", "message": "m", "retry_after_seconds": 10});
        let results = vec![
            result(0, 202, Value::Null),
            result(1, 422, json!([{"loc": ["body"], "msg": "no"}])),
            result(2, 429, limited),
        ];
        let items = (0..4).map(item).collect();
        let sorted = sort_results(items, &BulkAnswer { results }, 0);
        assert_eq!(sorted.accepted, 1);
        let failed: Vec<u64> = sorted.failures.iter().map(|it| it.position).collect();
        assert_eq!(failed, [1]);
        let again: Vec<u64> = sorted.again.iter().map(|it| it.position).collect();
        assert_eq!(again, [2, 3]);
        assert_eq!(sorted.wait.unwrap().max.as_secs(), 11);
        assert_eq!(sorted.fatal, None);
    }

    #[test]
    fn what_every_item_would_get_ends_the_run() {
        let detail = json!({"error": "insufficient_credits", "message": "no credit"});
        let results = vec![result(0, 429, detail)];
        let sorted = sort_results(vec![item(0)], &BulkAnswer { results }, 0);
        assert_eq!(sorted.fatal.unwrap().exit, ExitStatus::LimitReached);
    }
}
