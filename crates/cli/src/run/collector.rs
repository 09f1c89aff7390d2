//! Collects the answers of a run from the stream of its group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use client::ClientError;
use client::line_reader::LineReader;
use client::records::ResultLineHead;
use tokio::sync::watch;

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::run::answer_store::NewAnswer;
use crate::run::loader::is_temporary;
use crate::run::shared_run::SharedRun;

/// How long a stream waits for further answers.
const WAIT_SECONDS: u32 = 50;
/// Answers that are stored together.
const MAX_BATCH_LINES: usize = 1_000;
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A stream that ends sooner without an answer is not opened again at once.
const MIN_STREAM_TIME: Duration = Duration::from_secs(1);
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Collects until every request has an answer. `is_loaded` turns true when all are loaded.
pub async fn collect_all(run: Arc<SharedRun>, is_loaded: watch::Receiver<bool>) -> CliResult<()> {
    while !run.is_complete() {
        let started = Instant::now();
        let was_loaded = *is_loaded.borrow();
        match read_stream(&run).await {
            Ok(count) => {
                run.progress.set_disconnected(false);
                if run.is_complete() {
                    break;
                }
                if count == 0 && was_loaded {
                    check_missing(&run).await?;
                }
                if count == 0 && started.elapsed() < MIN_STREAM_TIME {
                    tokio::time::sleep(RECONNECT_DELAY).await;
                }
            }
            Err(StreamError::Call(error)) if is_temporary(&error) => {
                run.progress.set_disconnected(true);
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
            Err(StreamError::Call(error)) => return Err(error.into()),
            Err(StreamError::Command(error)) => return Err(error),
        }
    }
    Ok(())
}

enum StreamError {
    Call(ClientError),
    Command(CliError),
}

/// Reads one stream to its end. Returns how many answers it had.
async fn read_stream(run: &SharedRun) -> Result<usize, StreamError> {
    let after = run.store.lock().last_number;
    let opened = run.client.open_results(&run.group_id, after, WAIT_SECONDS);
    let mut reader = opened.await.map_err(StreamError::Call)?;
    let mut count = 0;
    loop {
        let line = reader.next_line().await;
        let line = line.map_err(|failure| StreamError::Call(failure.into()))?;
        let Some(line) = line else {
            return Ok(count);
        };
        let answers = read_batch(&line, &mut reader).map_err(StreamError::Command)?;
        count += answers.len();
        run.append(&answers).map_err(StreamError::Command)?;
        if run.is_complete() {
            return Ok(count);
        }
    }
}

/// The line and those that have already arrived after it.
fn read_batch(first: &Bytes, reader: &mut LineReader) -> CliResult<Vec<NewAnswer>> {
    let mut bytes = first.len();
    let mut answers = vec![to_answer(first)?];
    while answers.len() < MAX_BATCH_LINES
        && bytes < MAX_BATCH_BYTES
        && let Some(line) = reader.buffered_line()
    {
        bytes += line.len();
        answers.push(to_answer(&line)?);
    }
    Ok(answers)
}

fn to_answer(line: &Bytes) -> CliResult<NewAnswer> {
    let head: ResultLineHead = serde_json::from_slice(line).map_err(|error| {
        CliError::from(ClientError::UnreadableAnswer(format!(
            "a line of the results: {error}"
        )))
    })?;
    Ok(NewAnswer {
        number: head.number,
        position: head.position,
        is_success: head.success,
        charged: head.cost.charged,
        line: line.to_vec(),
    })
}

/// A completed group gets no further answers. If some are missing then, they never come.
async fn check_missing(run: &SharedRun) -> CliResult<()> {
    let record = run.client.group(&run.group_id).await;
    let record = match record {
        Ok(record) => record,
        Err(error) if is_temporary(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let status = record.get("status").and_then(serde_json::Value::as_str);
    let total = record
        .pointer("/counts/total")
        .and_then(serde_json::Value::as_u64);
    let (last_number, answered) = {
        let store = run.store.lock();
        (store.last_number, store.totals.answered)
    };
    let is_ended = matches!(status, Some("completed" | "cancelled"));
    if is_ended && total.is_some_and(|total| last_number >= total) {
        let missing = run.requests.saturating_sub(answered);
        let message = format!(
            "{missing} requests have no answer, and the group is {}.",
            status.unwrap_or("ended")
        );
        return Err(CliError::new(ExitStatus::Failed, "answers_missing", message).with_next(
            "If the group was cancelled before all requests were loaded, choose another --name.",
        ));
    }
    Ok(())
}
