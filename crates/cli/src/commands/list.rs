//! `longshore list`: cargo, newest first.

use clap::Args;
use client::LongshoreClient;
use client::cargo::CargoListFilter;
use serde_json::Value;

use crate::cli_error::CliResult;
use crate::exit_status::ExitStatus;
use crate::json_fields::{money_at, text_at, time_at};
use crate::session::Session;
use crate::table::TextTable;

const MAX_PAGE_SIZE: u32 = 200;

#[derive(Debug, Clone, Args)]
pub struct ListOptions {
    #[command(flatten)]
    pub filter: FilterOptions,
    /// At most so many.
    #[arg(long, short = 'n', default_value_t = 50)]
    pub limit: u32,
}

#[derive(Debug, Clone, Default, Args)]
pub struct FilterOptions {
    /// PENDING, BATCHED, PROCESSING, COMPLETED, `callback_delivered` or `callback_failed`. Repeatable.
    #[arg(long)]
    pub status: Vec<String>,
    /// Only what succeeded (true) or failed (false).
    #[arg(long, value_name = "BOOL")]
    pub success: Option<bool>,
    #[arg(long, short)]
    pub model: Option<String>,
    /// Only cargo of this group.
    #[arg(long, value_name = "ID")]
    pub group: Option<String>,
    /// Only cargo whose callbacks go to this host.
    #[arg(long, value_name = "HOST")]
    pub callback_host: Option<String>,
    /// Only cargo that was loaded after this time (ISO 8601).
    #[arg(long, value_name = "TIME")]
    pub created_after: Option<String>,
    /// Only cargo that was loaded before this time (ISO 8601).
    #[arg(long, value_name = "TIME")]
    pub created_before: Option<String>,
}

impl From<&FilterOptions> for CargoListFilter {
    fn from(options: &FilterOptions) -> Self {
        Self {
            status: options.status.clone(),
            success: options.success,
            model: options.model.clone(),
            group_id: options.group.clone(),
            callback_host: options.callback_host.clone(),
            created_after: options.created_after.clone(),
            created_before: options.created_before.clone(),
        }
    }
}

pub async fn run(session: &Session, options: &ListOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let filter = CargoListFilter::from(&options.filter);
    let cargo = read(&client, &filter, options.limit).await?;
    if session.printer.is_json() {
        for summary in &cargo {
            session.printer.json(summary)?;
        }
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(&["cargo", "status", "model", "created", "cost", "error"]);
    for summary in &cargo {
        table.push(row(summary));
    }
    session.printer.table(&table)?;
    Ok(ExitStatus::Done)
}

/// Pages until there are enough. Only a null cursor is the end: a page can be empty.
pub async fn read(
    client: &LongshoreClient,
    filter: &CargoListFilter,
    limit: u32,
) -> CliResult<Vec<Value>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut cargo: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    while cargo.len() < limit {
        let missing = u32::try_from(limit - cargo.len()).unwrap_or(MAX_PAGE_SIZE);
        let page_size = missing.min(MAX_PAGE_SIZE);
        let page = client.list_cargo(filter, page_size, cursor.as_deref());
        let mut page = page.await?;
        if let Some(Value::Array(found)) = page.get_mut("cargo") {
            cargo.append(found);
        }
        let next = page.get("next_cursor").and_then(Value::as_str);
        match next {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    cargo.truncate(limit);
    Ok(cargo)
}

pub fn row(summary: &Value) -> Vec<String> {
    vec![
        text_at(summary, "/cargo_id"),
        text_at(summary, "/status"),
        text_at(summary, "/model"),
        time_at(summary, "/created_at"),
        money_at(summary, "/cost/charged"),
        text_at(summary, "/error"),
    ]
}
