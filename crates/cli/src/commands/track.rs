//! `longshore track ID…`: the record of cargo and groups, with `--wait` when they are completed.

use std::time::{Duration, Instant};

use clap::Args;
use client::{ApiCall, LongshoreClient};
use serde_json::Value;

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::json_fields::{answer_text, money_at, text_at, time_at};
use crate::session::Session;

/// The service answers after 50 s at the latest.
const WAIT_SECONDS: u64 = 50;
/// Between requests if the service answers at once, because too many wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Args)]
pub struct TrackOptions {
    /// Ids of cargo (`crg_…`) and groups (`grp_…`).
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub waiting: TrackWaitOptions,
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct TrackWaitOptions {
    /// Wait until it is completed.
    #[arg(long)]
    pub wait: bool,
    /// Wait no longer than this. The exit code is 8 if it is not completed then.
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub timeout: Option<u64>,
}

pub async fn run(session: &Session, options: &TrackOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let mut exit = ExitStatus::Done;
    for id in &options.ids {
        let record = track(&client, id, options.waiting).await?;
        let is_group = is_group(id);
        session.printer.result(&record, |record| {
            if is_group {
                render_group(record)
            } else {
                render_cargo(record)
            }
        })?;
        if exit == ExitStatus::Done {
            exit = exit_of(&record);
        }
    }
    Ok(exit)
}

/// The record, if asked for when it is completed.
pub async fn track(
    client: &LongshoreClient,
    id: &str,
    waiting: TrackWaitOptions,
) -> CliResult<Value> {
    let deadline = waiting
        .timeout
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let seconds = left.map_or(WAIT_SECONDS, |left| left.as_secs().min(WAIT_SECONDS));
        let seconds = if waiting.wait { seconds } else { 0 };
        let started = Instant::now();
        let record = read(client, id, u32::try_from(seconds).unwrap_or_default()).await?;
        if !waiting.wait || is_completed(&record) {
            return Ok(record);
        }
        if left.is_some_and(|left| left < POLL_INTERVAL) {
            let message = format!("{id} is still under way: {}.", text_at(&record, "/status"));
            let next = format!("Run `longshore track {id} --wait` to wait longer.");
            let error = CliError::new(ExitStatus::StillUnderWay, "still_under_way", message);
            return Err(error.with_next(next));
        }
        if started.elapsed() < POLL_INTERVAL {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

async fn read(client: &LongshoreClient, id: &str, wait: u32) -> CliResult<Value> {
    if !is_group(id) {
        return Ok(client.track(id, wait).await?);
    }
    let path = format!("/groups/{}?wait={wait}", client::call::encode(id));
    Ok(client.json(&ApiCall::get(path).waiting(wait)).await?)
}

fn is_group(id: &str) -> bool {
    id.starts_with("grp_")
}

fn is_completed(record: &Value) -> bool {
    record.get("completed_at").is_some_and(|it| !it.is_null())
}

/// A failed cargo, or a group with failures, is not a success.
fn exit_of(record: &Value) -> ExitStatus {
    let is_failed = record.get("success") == Some(&Value::Bool(false));
    let count = |pointer: &str| record.pointer(pointer).and_then(Value::as_u64);
    let failed = count("/counts/failed").unwrap_or(0) + count("/counts/cancelled").unwrap_or(0);
    if is_failed || failed > 0 {
        ExitStatus::SomeItemsFailed
    } else {
        ExitStatus::Done
    }
}

pub fn render_cargo(record: &Value) -> String {
    let mut lines = vec![
        format!("cargo      {}", text_at(record, "/cargo_id")),
        format!("status     {}", text_at(record, "/status")),
        format!("model      {}", text_at(record, "/model")),
        format!("created    {}", time_at(record, "/created_at")),
        format!("completed  {}", time_at(record, "/completed_at")),
    ];
    if is_completed(record) {
        lines.push(format!("cost       {}", money_at(record, "/cost/charged")));
    }
    if let Some(error) = record.get("error").and_then(Value::as_str) {
        lines.push(format!("error      {error}"));
    }
    if let Some(response) = record.get("response").filter(|it| !it.is_null()) {
        lines.push(format!("\n{}", answer_text(response)));
    }
    lines.join("\n")
}

fn render_group(record: &Value) -> String {
    let mut lines = vec![
        format!("group      {}", text_at(record, "/group_id")),
        format!("name       {}", text_at(record, "/name")),
        format!("status     {}", text_at(record, "/status")),
        format!("created    {}", time_at(record, "/created_at")),
        format!("completed  {}", time_at(record, "/completed_at")),
        format!(
            "cargo      {} ({} succeeded, {} failed, {} cancelled, {} unfinished)",
            text_at(record, "/counts/total"),
            text_at(record, "/counts/succeeded"),
            text_at(record, "/counts/failed"),
            text_at(record, "/counts/cancelled"),
            text_at(record, "/counts/unfinished"),
        ),
        format!("cost       {}", money_at(record, "/cost/charged")),
    ];
    let failures = record.get("failures").and_then(Value::as_array);
    for failure in failures.into_iter().flatten() {
        let (count, error) = (text_at(failure, "/count"), text_at(failure, "/error"));
        lines.push(format!("failed     {count} × {error}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failures_are_no_success() {
        assert_eq!(exit_of(&json!({"success": true})), ExitStatus::Done);
        let failed = exit_of(&json!({"success": false}));
        assert_eq!(failed, ExitStatus::SomeItemsFailed);
        let group = exit_of(&json!({"counts": {"failed": 0, "cancelled": 1}}));
        assert_eq!(group, ExitStatus::SomeItemsFailed);
    }
}
