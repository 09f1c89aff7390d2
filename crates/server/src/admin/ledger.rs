//! `longshored admin ledger …`: account statements, and the consistency check.

mod check;
mod csv;
mod formatter;
mod json;
mod statement;
mod text;

use clap::{Subcommand, ValueEnum};
use domain::id::OrganizationId;
use domain::time::Timestamp;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::ledger::formatter::StatementRequest;
use crate::admin::printer::Printer;

#[derive(Debug, Subcommand)]
pub(super) enum LedgerCommand {
    /// Print the account statement of an organization: its postings in order, with balances.
    Statement {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        /// Start day (UTC) or time, included; the first posting, if not given.
        #[arg(long, value_name = "DATE", value_parser = argument::day_or_moment)]
        since: Option<Timestamp>,
        /// End day (UTC) or time, not included; now, if not given.
        #[arg(long, value_name = "DATE", value_parser = argument::day_or_moment)]
        until: Option<Timestamp>,
        #[arg(long, value_enum, conflicts_with = "json")]
        form: Option<StatementFormat>,
    },
    /// Check every invariant of the ledger on every shard; exit with 1 if one is violated.
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum StatementFormat {
    Text,
    Csv,
    Json,
}

/// Prints its output while it runs: a statement may not fit into memory, and faults are printed
/// before the command fails.
pub(super) async fn run(
    command: LedgerCommand,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    match command {
        LedgerCommand::Statement {
            id,
            since,
            until,
            form,
        } => {
            let default = match context.printer {
                Printer::Json => StatementFormat::Json,
                Printer::Text => StatementFormat::Text,
            };
            let request = StatementRequest {
                organization: id,
                since,
                until,
            };
            statement::write(request, form.unwrap_or(default), context).await
        }
        LedgerCommand::Check => check::run(context).await,
    }
}

#[cfg(test)]
mod tests;
