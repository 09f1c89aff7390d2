//! `longshored admin ledger …`: statements, and the proof that all is in order.

mod check;
mod csv;
mod form;
mod json;
mod statement;
mod text;

use clap::{Subcommand, ValueEnum};
use domain::id::OrganizationId;
use domain::time::Timestamp;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::argument;
use crate::admin::ledger::form::Wanted;
use crate::admin::printer::Printer;

#[derive(Debug, Subcommand)]
pub(super) enum LedgerCommand {
    /// Write an organization's postings in order, with the balance before and after.
    Statement {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        /// From this day (UTC) or moment on; from the beginning, if not given.
        #[arg(long, value_name = "DATE", value_parser = argument::day_or_moment)]
        since: Option<Timestamp>,
        /// Up to this day (UTC) or moment, which is not in it any more; up to now, if not given.
        #[arg(long, value_name = "DATE", value_parser = argument::day_or_moment)]
        until: Option<Timestamp>,
        #[arg(long, value_enum, conflicts_with = "json")]
        form: Option<StatementForm>,
    },
    /// Prove every identity of the ledger on every shard; exit with 1 if one does not hold.
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum StatementForm {
    Text,
    Csv,
    Json,
}

/// Writes by itself: a statement may be longer than memory, and faults are shown before the failure.
pub(super) async fn run(command: LedgerCommand, desk: Desk<'_>) -> Result<(), AdminFailure> {
    match command {
        LedgerCommand::Statement {
            id,
            since,
            until,
            form,
        } => {
            let plain = match desk.printer {
                Printer::Json => StatementForm::Json,
                Printer::Text => StatementForm::Text,
            };
            let wanted = Wanted {
                organization: id,
                since,
                until,
            };
            statement::write(wanted, form.unwrap_or(plain), desk).await
        }
        LedgerCommand::Check => check::run(desk).await,
    }
}

#[cfg(test)]
mod tests;
