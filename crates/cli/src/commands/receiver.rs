//! `longshore receiver check URL`: tests a receiver of callbacks.

use clap::{Args, Subcommand};
use client::ClientError;
use client::transport::Transport;
use client::webhook_signature::WebhookSecret;
use http::Uri;
use serde_json::json;

use crate::cli_error::{CliError, CliResult};
use crate::clock;
use crate::environment;
use crate::exit_status::ExitStatus;
use crate::receiver_check::checks::{CheckOutcome, CheckRow, ReceiverChecks};
use crate::receiver_check::probe::{ReceiverProbe, SLOW_PAUSE};
use crate::session::Session;
use crate::table::TextTable;

#[derive(Debug, Clone, Subcommand)]
pub enum ReceiverCommand {
    /// Send callbacks of every kind to a receiver, and report what it does wrong.
    Check(ReceiverCheckOptions),
}

#[derive(Debug, Clone, Args)]
pub struct ReceiverCheckOptions {
    /// The receiver. Use one for tests: it gets about eighty callbacks of cargo that do not exist.
    pub url: Uri,
    /// The environment variable that has the signing secret (`whsec_…`).
    #[arg(long, value_name = "NAME")]
    pub secret_env: Option<String>,
    /// A page that shows how many callbacks the receiver has handled, as a number.
    #[arg(long, value_name = "URL")]
    pub effect_url: Option<Uri>,
}

pub async fn run(session: &Session, command: &ReceiverCommand) -> CliResult<ExitStatus> {
    let ReceiverCommand::Check(options) = command;
    let probe = ReceiverProbe {
        transport: Transport::new().map_err(ClientError::from)?,
        url: options.url.clone(),
        secret: options.secret_env.as_deref().map(read_secret).transpose()?,
        now: clock::unix_seconds(),
        slow_pause: SLOW_PAUSE,
    };
    let rows = ReceiverChecks::new(probe, options.effect_url.clone())
        .run()
        .await;
    print_rows(session, &rows)?;
    let is_red = rows.iter().any(|row| row.outcome == CheckOutcome::Failed);
    Ok(if is_red {
        ExitStatus::SomeItemsFailed
    } else {
        ExitStatus::Done
    })
}

fn read_secret(name: &str) -> CliResult<WebhookSecret> {
    let text = environment::variable(name);
    text.as_deref()
        .and_then(WebhookSecret::parse)
        .ok_or_else(|| {
            let message =
                format!("{name} is not set, or it is not a secret that begins with whsec_.");
            CliError::new(ExitStatus::Usage, "invalid_secret", message)
                .with_next("The dashboard shows the secret of a project that signs its callbacks.")
        })
}

fn print_rows(session: &Session, rows: &[CheckRow]) -> CliResult<()> {
    let printer = session.printer;
    if printer.is_json() {
        for row in rows {
            printer.json(&json!({
                "check": row.name,
                "outcome": row.outcome.as_str().to_lowercase(),
                "detail": row.detail,
                "fix": fix_of(row),
            }))?;
        }
        return Ok(());
    }
    let mut table = TextTable::new(&["check", "result", "detail", "what to do"]);
    for row in rows {
        table.push(vec![
            row.name.clone(),
            row.outcome.as_str().to_owned(),
            row.detail.clone(),
            fix_of(row).unwrap_or_default().to_owned(),
        ]);
    }
    printer.table(&table)
}

/// Only for rows with something wrong.
fn fix_of(row: &CheckRow) -> Option<&'static str> {
    match row.outcome {
        CheckOutcome::Failed | CheckOutcome::Warning => Some(row.fix),
        CheckOutcome::Passed | CheckOutcome::Skipped => None,
    }
}
