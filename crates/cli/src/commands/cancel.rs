//! `longshore cancel`: cargo by id, or a whole group.

use clap::Args;
use serde_json::Value;

use crate::cli_error::CliResult;
use crate::exit_status::ExitStatus;
use crate::json_fields::text_at;
use crate::session::Session;

#[derive(Debug, Clone, Args)]
pub struct CancelOptions {
    /// Ids of cargo.
    #[arg(value_name = "ID", required_unless_present = "group")]
    pub ids: Vec<String>,
    /// Cancel all cargo of this group that no provider has.
    #[arg(long, value_name = "ID")]
    pub group: Option<String>,
}

pub async fn run(session: &Session, options: &CancelOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let mut exit = ExitStatus::Done;
    for id in &options.ids {
        let answer = client.cancel_cargo(id).await?;
        if answer.get("cancel").and_then(Value::as_str) == Some("too_late") {
            exit = ExitStatus::SomeItemsFailed;
        }
        session.printer.result(&answer, |answer| {
            let result = match answer.get("cancel").and_then(Value::as_str) {
                Some("cancelled") => "cancelled",
                Some("too_late") => "too late: a provider has it, and its answer will come",
                Some("done") => "completed before",
                Some(_) | None => "answered",
            };
            format!("{}  {result}", text_at(answer, "/cargo_id"))
        })?;
    }
    if let Some(group) = &options.group {
        let answer = client.cancel_group(group).await?;
        session.printer.result(&answer, |answer| {
            format!(
                "{}  {} ({} unfinished)",
                text_at(answer, "/group_id"),
                text_at(answer, "/status"),
                text_at(answer, "/counts/unfinished"),
            )
        })?;
    }
    Ok(exit)
}
