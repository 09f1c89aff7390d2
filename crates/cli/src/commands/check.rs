//! `longshore check FILE`: all faults of a file, without loading anything.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli_error::CliResult;
use crate::commands::estimate::{FileEstimate, estimate_file};
use crate::exit_status::ExitStatus;
use crate::numbers::group_digits;
use crate::requests::request_file::{self, FileSummary, LineFault};
use crate::requests::request_line::LineDefaults;
use crate::session::Session;

#[derive(Debug, Clone, Args)]
pub struct CheckOptions {
    /// One request per line.
    pub file: PathBuf,
    #[command(flatten)]
    pub defaults: LineDefaults,
    /// Do not ask the service for an estimate.
    #[arg(long)]
    pub offline: bool,
}

pub async fn run(session: &Session, options: &CheckOptions) -> CliResult<ExitStatus> {
    let printer = session.printer;
    let summary = request_file::check(&options.file, &options.defaults)?;
    let estimate = match session.client() {
        Ok(client) if !options.offline && summary.faulty_lines == 0 && summary.requests > 0 => {
            // One attempt: the check of the file is done, whatever the service says.
            let client = client.retrying_for(Some(std::time::Duration::ZERO));
            estimate_file(&client, &options.file, &options.defaults)
                .await
                .ok()
        }
        Ok(_) | Err(_) => None,
    };
    if printer.is_json() {
        let faults: Vec<_> = summary
            .faults
            .iter()
            .map(|fault| json!({"line": fault.line, "faults": fault.faults}))
            .collect();
        printer.json(&json!({
            "requests": summary.requests,
            "faulty_lines": summary.faulty_lines,
            "faults": faults,
            "estimate": estimate.as_ref().map(FileEstimate::to_json),
        }))?;
    } else {
        for fault in &summary.faults {
            printer.line(&describe(fault))?;
        }
        printer.line(&summarize(&summary))?;
        if let Some(estimate) = &estimate {
            printer.line(&estimate.render())?;
        }
    }
    Ok(if summary.faulty_lines > 0 || summary.requests == 0 {
        ExitStatus::SomeItemsFailed
    } else {
        ExitStatus::Done
    })
}

pub fn describe(fault: &LineFault) -> String {
    format!(
        "line {}: {}",
        group_digits(fault.line),
        fault.faults.join("; ")
    )
}

fn summarize(summary: &FileSummary) -> String {
    let requests = group_digits(summary.requests);
    if summary.faulty_lines == 0 {
        format!("{requests} requests, no faults")
    } else {
        let faulty = group_digits(summary.faulty_lines);
        format!("{requests} requests, {faulty} with faults")
    }
}
