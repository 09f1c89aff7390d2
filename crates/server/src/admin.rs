//! `longshored admin`: commands for organizations, projects, API keys, people, credit, files,
//! providers and the audit log, and the erasure of their data.

mod argument;
mod audit;
mod consistency_check;
mod credit;
mod encryption;
mod erase;
mod failure;
mod files;
mod key;
mod ledger;
mod licence;
mod organization;
mod person;
mod printer;
mod project;
mod provider;
mod random;
mod recovery;
mod retention;
mod savings;
mod signing;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::plan_limits::LimitsByPlan;
use domain::time::Timestamp;
use store::control::audit_log::{self, Actor, AuditEvent};
use store::{Control, Shard, migrate};

use crate::admin::audit::AuditCommand;
use crate::admin::credit::CreditCommand;
use crate::admin::encryption::EncryptionCommand;
use crate::admin::erase::EraseCommand;
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
use crate::admin::recovery::RecoveryCommand;
use crate::admin::savings::SavingsCommand;
use crate::admin::signing::SigningCommand;
use crate::callback_signing;
use crate::dashboard;
use crate::databases::Stores;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::Settings;
use crate::settings::table::SettingValues;

/// Rows per query when a command reads all of them.
const ROWS_PER_PAGE: u32 = 1000;

/// Manage organizations, projects, API keys, people, credit, files, providers and the audit log.
#[derive(Debug, Args)]
pub struct AdminCommand {
    /// Print one JSON object or array instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    subcommand: AdminSubcommand,
}

#[derive(Debug, Subcommand)]
enum AdminSubcommand {
    /// Organizations: the customers who pay; each has a plan and a berth on one shard.
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Projects: they own cargo and API keys, and belong to an organization.
    #[command(subcommand)]
    Project(ProjectCommand),
    /// API keys, which callers send as X-API-Key; each belongs to a project.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Signatures of a project's callbacks, and their secrets.
    #[command(subcommand)]
    Signing(SigningCommand),
    /// Encryption at rest, and the rotation of its keys.
    #[command(subcommand)]
    Encryption(EncryptionCommand),
    /// People who sign in to the dashboard.
    #[command(subcommand)]
    Person(PersonCommand),
    /// Prepaid credit of organizations, posted to the ledger.
    #[command(subcommand)]
    Credit(CreditCommand),
    /// Account statements, and the consistency check of the ledger.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Consistency check of files, and the removal of objects from the bucket.
    #[command(subcommand)]
    Files(FilesCommand),
    /// Provider accounts: their limits, and whether they are paused.
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Tokens that read the audit log over HTTP, for a SIEM.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Erase an organization, a project or a person.
    #[command(subcommand)]
    Erase(EraseCommand),
    /// A database that was restored to an earlier moment, or copied.
    #[command(subcommand)]
    Recovery(RecoveryCommand),
    /// What batching saved, by organization and model: the realtime price minus the charge.
    Savings(SavingsCommand),
    /// The licence of a self-hosted installation; needs no database.
    #[command(subcommand)]
    Licence(LicenceCommand),
}

/// A command that needs no database.
#[derive(Debug)]
pub struct OfflineCommand<'a> {
    command: &'a LicenceCommand,
    printer: Printer,
}

impl OfflineCommand<'_> {
    pub fn run(&self, values: &SettingValues, now: Timestamp) -> Result<(), AdminFailure> {
        print_output(&licence::run(self.command, values, self.printer, now)?)
    }
}

impl AdminCommand {
    pub const fn offline_command(&self) -> Option<OfflineCommand<'_>> {
        let printer = self.printer();
        match &self.subcommand {
            AdminSubcommand::Licence(command) => Some(OfflineCommand { command, printer }),
            AdminSubcommand::Organization(_)
            | AdminSubcommand::Project(_)
            | AdminSubcommand::Key(_)
            | AdminSubcommand::Signing(_)
            | AdminSubcommand::Encryption(_)
            | AdminSubcommand::Person(_)
            | AdminSubcommand::Credit(_)
            | AdminSubcommand::Ledger(_)
            | AdminSubcommand::Files(_)
            | AdminSubcommand::Provider(_)
            | AdminSubcommand::Audit(_)
            | AdminSubcommand::Erase(_)
            | AdminSubcommand::Recovery(_)
            | AdminSubcommand::Savings(_) => None,
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

/// What every command needs.
#[derive(Debug, Clone, Copy)]
struct AdminContext<'a> {
    control: &'a Control,
    shards: &'a [Arc<Shard>],
    limits: &'a LimitsByPlan,
    printer: Printer,
    now: Timestamp,
}

impl AdminContext<'_> {
    /// Writes to the audit log, before a change on a shard is made.
    async fn record(&self, event: AuditEvent<'_>) -> Result<(), AdminFailure> {
        let by = Actor::console();
        Ok(audit_log::record(self.control, &by, event, self.now).await?)
    }
}

/// Runs one command and prints its result.
pub async fn run(
    command: AdminCommand,
    stores: &Stores,
    limits: LimitsByPlan,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), AdminFailure> {
    let (control, shards) = (&stores.control, stores.shards.as_slice());
    let state = migrate::control_state(control).await?;
    if !state.can_serve() {
        return Err(AdminFailure::Schema(state));
    }
    let printer = command.printer();
    let context = AdminContext {
        control,
        shards,
        limits: &limits,
        printer,
        now,
    };
    let answer = match command.subcommand {
        AdminSubcommand::Organization(command) => organization::run(command, context).await?,
        AdminSubcommand::Project(command) => {
            project::run(command, settings.values.retention_days, context).await?
        }
        AdminSubcommand::Key(command) => key::run(command, context).await?,
        AdminSubcommand::Signing(command) => {
            let roots = callback_signing::roots(&settings.values);
            signing::run(command, roots.as_ref(), context).await?
        }
        AdminSubcommand::Encryption(command) => {
            encryption::run(command, &settings.values, context).await?
        }
        AdminSubcommand::Person(command) => {
            let public_url = dashboard::public_url(&settings.values, settings.values.listen);
            person::run(command, &public_url, context).await?
        }
        AdminSubcommand::Credit(command) => credit::run(command, context).await?,
        AdminSubcommand::Ledger(command) => return ledger::run(command, context).await,
        AdminSubcommand::Files(command) => return files::run(command, context).await,
        AdminSubcommand::Provider(command) => {
            // Read only here: an invalid providers file stops no other command.
            let accounts = ProviderAccounts::from_settings(settings, CredentialAccess::Skip)?;
            provider::run(command, &accounts, context).await?
        }
        AdminSubcommand::Audit(command) => audit::run(command, context).await?,
        AdminSubcommand::Erase(command) => {
            return erase::run(command, &settings.values, context).await;
        }
        AdminSubcommand::Recovery(command) => {
            return recovery::run(command, settings, context).await;
        }
        AdminSubcommand::Savings(command) => savings::run(command, context).await?,
        // Handled by `offline_command`, before the databases are opened.
        AdminSubcommand::Licence(_) => String::new(),
    };
    print_output(&answer)
}

/// Writes the whole answer at the end, so that a reader never gets a part of it.
fn print_output(answer: &str) -> Result<(), AdminFailure> {
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())
        .and_then(|()| out.flush())
        .map_err(AdminFailure::Output)
}
