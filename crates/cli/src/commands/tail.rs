//! `longshore tail`: prints what is completed, as it happens.

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use client::LongshoreClient;
use client::cargo::CargoListFilter;
use serde_json::Value;

use crate::cli_error::CliResult;
use crate::commands::list::{self, FilterOptions};
use crate::exit_status::ExitStatus;
use crate::json_fields::text_at;
use crate::printer::OutputPrinter;
use crate::run::loader::is_temporary;
use crate::session::Session;

const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Cargo of the newest page are watched.
const MAX_WATCHED_CARGO: u32 = 200;
const STREAM_WAIT_SECONDS: u32 = 50;

#[derive(Debug, Clone, Args)]
pub struct TailOptions {
    #[command(flatten)]
    pub filter: FilterOptions,
    /// Of a group: begin after this number of its results.
    #[arg(long, value_name = "NUMBER", requires = "group", default_value_t = 0)]
    pub after: u64,
}

pub async fn run(session: &Session, options: &TailOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let follow = async {
        match &options.filter.group {
            Some(group) => follow_group(session.printer, &client, group, options.after).await,
            None => follow_recent(session.printer, &client, &options.filter).await,
        }
    };
    tokio::select! {
        ended = follow => ended.map(|()| ExitStatus::Done),
        _ = tokio::signal::ctrl_c() => Ok(ExitStatus::Interrupted),
    }
}

/// The results of a group in the order of completion, until it is completed.
async fn follow_group(
    printer: OutputPrinter,
    client: &LongshoreClient,
    group: &str,
    mut after: u64,
) -> CliResult<()> {
    loop {
        let mut lines = client
            .open_results(group, after, STREAM_WAIT_SECONDS)
            .await?;
        loop {
            match lines.next_line().await {
                Ok(Some(line)) => {
                    let result: Value = serde_json::from_slice(&line).unwrap_or_default();
                    let number = result.get("number").and_then(Value::as_u64);
                    after = after.max(number.unwrap_or_default());
                    printer.result(&result, describe_result)?;
                }
                Ok(None) => break,
                Err(failure) => {
                    printer.note(&format!("{failure}: reconnecting"));
                    tokio::time::sleep(POLL_INTERVAL).await;
                    break;
                }
            }
        }
        let record = client.group(group).await?;
        let total = record.pointer("/counts/total").and_then(Value::as_u64);
        let is_ended = record.get("completed_at").is_some_and(|it| !it.is_null());
        if is_ended && total.is_some_and(|total| after >= total) {
            return Ok(());
        }
    }
}

/// Cargo of the newest page whenever its status changes.
async fn follow_recent(
    printer: OutputPrinter,
    client: &LongshoreClient,
    options: &FilterOptions,
) -> CliResult<()> {
    let filter = CargoListFilter::from(options);
    let mut known: Option<HashMap<String, String>> = None;
    loop {
        let page = match client.list_cargo(&filter, MAX_WATCHED_CARGO, None).await {
            Ok(page) => page,
            Err(error) if is_temporary(&error) && known.is_some() => {
                printer.note(&format!("{error}: trying again"));
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let cargo = page.get("cargo").and_then(Value::as_array);
        let mut seen = HashMap::new();
        for summary in cargo.into_iter().flatten().rev() {
            let (id, status) = (text_at(summary, "/cargo_id"), text_at(summary, "/status"));
            // The first page is what was there before.
            let is_news = known
                .as_ref()
                .is_some_and(|known| known.get(&id) != Some(&status));
            if is_news {
                printer.result(summary, |summary| list::row(summary).join("  "))?;
            }
            seen.insert(id, status);
        }
        known = Some(seen);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn describe_result(result: &Value) -> String {
    let is_success = result.get("success") == Some(&Value::Bool(true));
    let word = if is_success { "done" } else { "failed" };
    let mut text = format!(
        "{}  {}  {word}",
        text_at(result, "/cargo_id"),
        text_at(result, "/custom_id"),
    );
    if !is_success {
        text.push_str("  ");
        text.push_str(&text_at(result, "/error"));
    }
    text
}
