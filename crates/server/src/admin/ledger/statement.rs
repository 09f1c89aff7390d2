//! A statement, written page by page: a million postings never lie in memory at once.

use std::io::{self, Write};

use store::Shard;
use store::shard::statement;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::ledger::StatementForm;
use crate::admin::ledger::csv::Csv;
use crate::admin::ledger::form::{Form, Wanted};
use crate::admin::ledger::json::Json;
use crate::admin::ledger::text::Text;
use crate::admin::organization;

pub(super) async fn write(
    wanted: Wanted,
    form: StatementForm,
    desk: Desk<'_>,
) -> Result<(), AdminFailure> {
    let (_, shard) = organization::home(wanted.organization, desk).await?;
    match form {
        StatementForm::Text => stream(wanted, shard, Text).await,
        StatementForm::Csv => stream(wanted, shard, Csv).await,
        StatementForm::Json => stream(wanted, shard, Json::default()).await,
    }
}

async fn stream(wanted: Wanted, shard: &Shard, mut form: impl Form) -> Result<(), AdminFailure> {
    let failed = |source| AdminFailure::Unanswered {
        shard: shard.name.to_string(),
        source,
    };
    let Wanted {
        organization,
        since,
        until,
    } = wanted;
    let span = statement::span(shard, organization, since, until).await;
    let span = span.map_err(failed)?;
    let mut text = form.head(wanted, span)?;
    let mut from = span.first;
    while from < span.end {
        let page = statement::page(shard, organization, span, from, PAGE).await;
        let page = page.map_err(failed)?;
        let Some(last) = page.last() else { break };
        from = last.number + 1;
        for line in &page {
            text.push_str(&form.line(line)?);
        }
        if put(&text)? == Reader::Gone {
            return Ok(());
        }
        text.clear();
    }
    text.push_str(&form.tail(span));
    put(&text).map(|_| ())
}

#[derive(Debug, PartialEq, Eq)]
enum Reader {
    There,
    /// It has seen enough, such as `head`.
    Gone,
}

fn put(text: &str) -> Result<Reader, AdminFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(AdminFailure::Unwritten(error)),
    }
}
