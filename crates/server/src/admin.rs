//! `longshored admin`: organizations, projects, keys, people, money, files and providers, for
//! people and scripts.

mod argument;
mod credit;
mod failure;
mod files;
mod key;
mod ledger;
mod licence;
mod organization;
mod person;
mod printer;
mod project;
mod proof;
mod provider;
mod random;
mod savings;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::limit::Limits;
use domain::time::Timestamp;
use store::{Control, Shard, migrate};

use crate::admin::credit::CreditCommand;
pub use crate::admin::failure::AdminFailure;
use crate::admin::files::FilesCommand;
use crate::admin::key::KeyCommand;
use crate::admin::ledger::LedgerCommand;
use crate::admin::licence::LicenceCommand;
use crate::admin::organization::OrganizationCommand;
use crate::admin::person::PersonCommand;
use crate::admin::printer::Printer;
use crate::admin::project::ProjectCommand;
use crate::admin::provider::ProviderCommand;
use crate::admin::savings::SavingsCommand;
use crate::dashboard;
use crate::providers::Accounts;
use crate::providers::credential::Credentials;
use crate::settings::Settings;
use crate::settings::table::Values;
use crate::wiring::Stores;

/// Rows read at once, where all are shown.
const PAGE: u32 = 1000;

/// Make and change organizations, projects and keys, and keep their money.
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
    /// Who signs in to the dashboard.
    #[command(subcommand)]
    Person(PersonCommand),
    /// What organizations have paid for; posted to the ledger.
    #[command(subcommand)]
    Credit(CreditCommand),
    /// Statements, and the proof that every nano-dollar is where it belongs.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// The proof that files, objects and storage are counted right.
    #[command(subcommand)]
    Files(FilesCommand),
    /// The accounts at providers: their limits, and whether they are paused.
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// What batching saved, by organization and model: the price in realtime less what was charged.
    Savings(SavingsCommand),
    /// What the enterprise plan of a self-hosted install allows; no database is asked.
    #[command(subcommand)]
    Licence(LicenceCommand),
}

/// A command that needs no database.
#[derive(Debug)]
pub struct Alone<'a> {
    command: &'a LicenceCommand,
    printer: Printer,
}

impl Alone<'_> {
    pub fn run(&self, values: &Values, now: Timestamp) -> Result<(), AdminFailure> {
        say(&licence::run(self.command, values, self.printer, now)?)
    }
}

impl AdminCommand {
    pub const fn alone(&self) -> Option<Alone<'_>> {
        let printer = self.printer();
        match &self.subject {
            Subject::Licence(command) => Some(Alone { command, printer }),
            Subject::Organization(_)
            | Subject::Project(_)
            | Subject::Key(_)
            | Subject::Person(_)
            | Subject::Credit(_)
            | Subject::Ledger(_)
            | Subject::Files(_)
            | Subject::Provider(_)
            | Subject::Savings(_) => None,
        }
    }

    const fn printer(&self) -> Printer {
        if self.json {
            Printer::Json
        } else {
            Printer::Text
        }
    }
}

/// What a command works with.
#[derive(Debug, Clone, Copy)]
struct Desk<'a> {
    control: &'a Control,
    shards: &'a [Arc<Shard>],
    limits: &'a Limits,
    printer: Printer,
    now: Timestamp,
}

/// Carries out one command and prints what came of it.
pub async fn run(
    command: AdminCommand,
    stores: &Stores,
    limits: Limits,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), AdminFailure> {
    let (control, shards) = (&stores.control, stores.shards.as_slice());
    let state = migrate::control_state(control).await?;
    if !state.serves() {
        return Err(AdminFailure::Schema(state));
    }
    let printer = command.printer();
    let desk = Desk {
        control,
        shards,
        limits: &limits,
        printer,
        now,
    };
    let answer = match command.subject {
        Subject::Organization(command) => organization::run(command, desk).await?,
        Subject::Project(command) => project::run(command, desk).await?,
        Subject::Key(command) => key::run(command, desk).await?,
        Subject::Person(command) => {
            let at = dashboard::public_url(&settings.values, settings.values.listen);
            person::run(command, &at, desk).await?
        }
        Subject::Credit(command) => credit::run(command, desk).await?,
        Subject::Ledger(command) => return ledger::run(command, desk).await,
        Subject::Files(command) => return files::run(command, desk).await,
        Subject::Provider(command) => {
            // Read for these alone: a file with a mistake stops no other command.
            let accounts = Accounts::of(settings, Credentials::Unread)?;
            provider::run(command, &accounts, desk).await?
        }
        Subject::Savings(command) => savings::run(command, desk).await?,
        // Answered before: no database needs to be there.
        Subject::Licence(_) => String::new(),
    };
    say(&answer)
}

/// All at once, at the end: a reader gets a whole answer or none.
fn say(answer: &str) -> Result<(), AdminFailure> {
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())
        .and_then(|()| out.flush())
        .map_err(AdminFailure::Output)
}
