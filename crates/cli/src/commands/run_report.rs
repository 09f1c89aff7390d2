//! What `longshore run` says at its end.

use std::fs;
use std::path::Path;

use client::records::GroupRecord;
use serde_json::{Value, json};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::numbers::{dollars, group_digits};
use crate::run::answer_store::AnswerTotals;
use crate::run::shared_run::SharedRun;
use crate::session::Session;

/// The output is there: it is that of this run, or it stays.
pub fn keep_output(session: &Session, output: &Path, group: &GroupRecord) -> CliResult<ExitStatus> {
    let lines = fs::read(output).map_err(|error| CliError::file(output, &error))?;
    let lines = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let lines = u64::try_from(lines.count()).unwrap_or_default();
    let is_of_this_run = group.existing && group.is_completed() && lines >= group.counts.total;
    if !is_of_this_run || group.counts.total == 0 {
        let message = format!("{} exists already.", output.display());
        let next = "Choose another file with -o, or replace it with --force.";
        return Err(CliError::new(ExitStatus::Failed, "output_exists", message).with_next(next));
    }
    session.printer.note(&format!(
        "This run is done: {} has its answers. --force fetches them again.",
        output.display()
    ));
    Ok(if group.counts.failed + group.counts.cancelled > 0 {
        ExitStatus::SomeItemsFailed
    } else {
        ExitStatus::Done
    })
}

pub fn report_detached(session: &Session, shared: &SharedRun) -> CliResult<ExitStatus> {
    let value = json!({"group_id": shared.group_id, "loaded": shared.requests});
    session.printer.result(&value, |_| {
        let count = group_digits(shared.requests);
        let group = &shared.group_id;
        format!("{count} requests are loaded ({group}). Run the same command without --detach to collect the answers.")
    })?;
    Ok(ExitStatus::Done)
}

pub async fn report(
    session: &Session,
    shared: &SharedRun,
    output: &Path,
    totals: AnswerTotals,
) -> CliResult<ExitStatus> {
    let value = json!({
        "group_id": shared.group_id,
        "answers": output.display().to_string(),
        "answered": totals.answered,
        "failed": totals.failed,
        "charged": totals.charged,
        "currency": "USD",
        "scale": 9,
    });
    session.printer.result(&value, |_| {
        format!(
            "{} answers in {} · failed {} · {}",
            group_digits(totals.answered),
            output.display(),
            group_digits(totals.failed),
            dollars(totals.charged)
        )
    })?;
    if totals.failed == 0 {
        return Ok(ExitStatus::Done);
    }
    // The answers have every failure. The most frequent ones are only a service.
    if let Ok(group) = shared.client.group(&shared.group_id).await {
        for failure in group
            .get("failures")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let count = failure
                .get("count")
                .and_then(Value::as_u64)
                .unwrap_or_default();
            let error = failure
                .get("error")
                .and_then(Value::as_str)
                .unwrap_or_default();
            session
                .printer
                .note(&format!("{:>9}  {error}", group_digits(count)));
        }
    }
    Ok(ExitStatus::SomeItemsFailed)
}
