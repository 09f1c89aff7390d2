//! Writes a statement page by page: a million postings need not fit into memory.

use std::io::{self, Write};

use store::Shard;
use store::control::audit_log::AuditEvent;
use store::shard::statement;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::ledger::StatementFormat;
use crate::admin::ledger::csv::CsvStatement;
use crate::admin::ledger::formatter::{StatementFormatter, StatementRequest};
use crate::admin::ledger::json::JsonStatement;
use crate::admin::ledger::text::TextStatement;
use crate::admin::organization;

pub(super) async fn write(
    request: StatementRequest,
    form: StatementFormat,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let (_, shard) = organization::find_with_shard(request.organization, context).await?;
    let event = AuditEvent {
        organization: Some(request.organization),
        action: "statement.exported",
        ..AuditEvent::default()
    };
    context.record(event).await?;
    match form {
        StatementFormat::Text => stream(request, shard, TextStatement).await,
        StatementFormat::Csv => stream(request, shard, CsvStatement).await,
        StatementFormat::Json => stream(request, shard, JsonStatement::default()).await,
    }
}

async fn stream(
    request: StatementRequest,
    shard: &Shard,
    mut formatter: impl StatementFormatter,
) -> Result<(), AdminFailure> {
    let failed = |source| AdminFailure::ShardFailed {
        shard: shard.name.to_string(),
        source,
    };
    let StatementRequest {
        organization,
        since,
        until,
    } = request;
    let span = statement::find_range(shard, organization, since, until).await;
    let span = span.map_err(failed)?;
    let mut text = formatter.head(request, span)?;
    let mut from = span.first;
    while from < span.end {
        let page = statement::list_lines(shard, organization, span, from, ROWS_PER_PAGE).await;
        let page = page.map_err(failed)?;
        let Some(last) = page.last() else { break };
        from = last.number + 1;
        for line in &page {
            text.push_str(&formatter.line(line)?);
        }
        if write_output(&text)? == OutputPipe::Closed {
            return Ok(());
        }
        text.clear();
    }
    text.push_str(&formatter.tail(span));
    write_output(&text).map(|_| ())
}

#[derive(Debug, PartialEq, Eq)]
enum OutputPipe {
    Open,
    /// The reader closed the pipe, as `head` does.
    Closed,
}

fn write_output(text: &str) -> Result<OutputPipe, AdminFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(OutputPipe::Open),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputPipe::Closed),
        Err(error) => Err(AdminFailure::StatementNotWritten(error)),
    }
}
