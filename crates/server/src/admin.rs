//! `longshored admin`: organizations, projects and keys, for people and scripts.

mod argument;
mod failure;
mod key;
mod organization;
mod printer;
mod project;
mod random;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::time::Timestamp;
use store::{Control, Shard, migrate};

pub use crate::admin::failure::AdminFailure;
use crate::admin::key::KeyCommand;
use crate::admin::organization::OrganizationCommand;
use crate::admin::printer::Printer;
use crate::admin::project::ProjectCommand;

/// Rows read at once, where all are shown.
const PAGE: u32 = 1000;

/// Make and change organizations, projects and keys.
#[derive(Debug, Args)]
pub struct AdminCommand {
    /// Print one JSON object or array instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Who pays: made with a plan, in a berth of one shard.
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Who owns cargo and keys; belongs to an organization.
    #[command(subcommand)]
    Project(ProjectCommand),
    /// What a caller sends as X-API-Key; belongs to a project.
    #[command(subcommand)]
    Key(KeyCommand),
}

/// What a command works with.
#[derive(Debug, Clone, Copy)]
struct Desk<'a> {
    control: &'a Control,
    shards: &'a [Arc<Shard>],
    printer: Printer,
    now: Timestamp,
}

/// Carries out one command and prints what came of it.
pub async fn run(
    command: AdminCommand,
    control: &Control,
    shards: &[Arc<Shard>],
    now: Timestamp,
) -> Result<(), AdminFailure> {
    let state = migrate::control_state(control).await?;
    if !state.serves() {
        return Err(AdminFailure::Schema(state));
    }
    let printer = if command.json {
        Printer::Json
    } else {
        Printer::Text
    };
    let desk = Desk {
        control,
        shards,
        printer,
        now,
    };
    let answer = match command.subject {
        Subject::Organization(command) => organization::run(command, desk).await?,
        Subject::Project(command) => project::run(command, desk).await?,
        Subject::Key(command) => key::run(command, desk).await?,
    };
    // All at once, at the end: a reader gets a whole answer or none.
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())
        .and_then(|()| out.flush())
        .map_err(AdminFailure::Output)
}
