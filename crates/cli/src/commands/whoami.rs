//! `longshore whoami`: the key, its project, limits and balance.

use serde_json::Value;

use crate::cli_error::CliResult;
use crate::exit_status::ExitStatus;
use crate::json_fields::{money_at, text_at};
use crate::session::Session;

pub async fn run(session: &Session) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let identity = client.whoami().await?;
    let base_url = client.base_url().to_owned();
    session
        .printer
        .result(&identity, |identity| render(identity, &base_url))?;
    Ok(ExitStatus::Done)
}

fn render(identity: &Value, base_url: &str) -> String {
    let rights = identity.pointer("/key/rights").and_then(Value::as_array);
    let rights: Vec<&str> = rights
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    [
        format!("service       {base_url}"),
        format!(
            "organization  {} ({})",
            text_at(identity, "/organization/name"),
            text_at(identity, "/organization/plan")
        ),
        format!("project       {}", text_at(identity, "/project/slug")),
        format!(
            "key           {} ({}…), may {}",
            text_at(identity, "/key/name"),
            text_at(identity, "/key/prefix"),
            rights.join(", ")
        ),
        format!(
            "loads         {} at once, then {} a minute",
            text_at(identity, "/limits/burst"),
            text_at(identity, "/limits/sustained_requests_per_minute")
        ),
        format!(
            "balance       {}, {} held",
            money_at(identity, "/balance/available"),
            money_at(identity, "/balance/held")
        ),
    ]
    .join("\n")
}
