//! `longshored admin recovery …`: a database that was restored to an earlier moment, or copied.

mod accept;
mod erasures;
mod jobs;
mod lost_items;
mod report;
mod view;

use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::time::Timestamp;
use outbound::object_store::ObjectStore;
use store::Shard;
use store::control::audit_log::AuditEvent;
use store::shard::{bucket_marker, recovery};
use workers::Providers;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::print_output;
use crate::admin::recovery::view::RecoveryView;
use crate::clock::DatabaseClock;
use crate::files;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::{self, Settings};
use crate::work;

#[derive(Debug, Subcommand)]
pub(super) enum RecoveryCommand {
    /// Show on every shard whether it is paused, why, and what its rows certainly know.
    Status,
    /// Pause a shard by hand, after its database was restored: no load is accepted, and workers
    /// change nothing until `accept`.
    Pause {
        #[command(flatten)]
        only: OnlyShard,
        /// The moment to which the database was restored. Default: when its last marker was
        /// written.
        #[arg(long, value_parser = argument::moment)]
        restored_to: Option<Timestamp>,
    },
    /// Search providers for jobs that the rows do not know. Those whose batch exists are adopted,
    /// those whose batch is lost are cancelled.
    Jobs {
        #[command(flatten)]
        only: OnlyShard,
        #[command(flatten)]
        search: JobSearchArguments,
        /// Only show what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Name what is lost and still known to a provider or to the bucket, as JSON lines.
    Report {
        #[command(flatten)]
        only: OnlyShard,
        #[command(flatten)]
        search: JobSearchArguments,
    },
    /// Accept the databases as they are: erase again what was erased, adopt and cancel jobs, and
    /// let the workers continue. The removal of files stays on hold.
    Accept {
        #[command(flatten)]
        only: OnlyShard,
        #[command(flatten)]
        search: JobSearchArguments,
    },
}

#[derive(Debug, Args)]
pub(super) struct OnlyShard {
    /// Only this shard.
    #[arg(long)]
    shard: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct JobSearchArguments {
    /// Jobs created since this moment. Default: the last moment that the shard's rows certainly
    /// know.
    #[arg(long, value_parser = argument::moment)]
    since: Option<Timestamp>,
    /// No other installation uses this account, so every job with a label of Longshore is ours.
    /// Needed for jobs of providers that keep only the label.
    #[arg(long, value_name = "ACCOUNT")]
    exclusive: Vec<String>,
    /// Do not search this account, because it cannot be reached.
    #[arg(long, value_name = "ACCOUNT")]
    skip: Vec<String>,
}

/// What the commands need besides the databases.
#[derive(Clone, Copy)]
struct RecoveryContext<'a> {
    admin: AdminContext<'a>,
    settings: &'a Settings,
    objects: Option<&'a ObjectStore>,
}

pub(super) async fn run(
    command: RecoveryCommand,
    settings: &Settings,
    admin: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let backends = files::open_backends(&settings.values, Arc::new(DatabaseClock::new()))?;
    let objects = backends.as_ref().map(|backends| &backends.objects);
    if let Some(objects) = objects {
        // Static keys need no refresh; a failed one shows in the first call.
        let _refreshed = objects.refresh_credentials().await;
    }
    let context = RecoveryContext {
        admin,
        settings,
        objects,
    };
    match command {
        RecoveryCommand::Status => context.show(&OnlyShard { shard: None }).await,
        RecoveryCommand::Pause { only, restored_to } => context.pause(&only, restored_to).await,
        RecoveryCommand::Jobs {
            only,
            search,
            dry_run,
        } => jobs::run(context, &only, &search, dry_run).await,
        RecoveryCommand::Report { only, search } => report::run(context, &only, &search).await,
        RecoveryCommand::Accept { only, search } => accept::run(context, &only, &search).await,
    }
}

impl<'a> RecoveryContext<'a> {
    fn shards(&self, only: &OnlyShard) -> Result<Vec<&'a Arc<Shard>>, AdminFailure> {
        let shards = self.admin.shards.iter();
        let chosen: Vec<&Arc<Shard>> = shards
            .filter(|shard| {
                only.shard
                    .as_deref()
                    .is_none_or(|name| *name == *shard.name)
            })
            .collect();
        match &only.shard {
            Some(name) if chosen.is_empty() => {
                let known = self.admin.shards.iter().map(|shard| &*shard.name);
                Err(AdminFailure::NoSuchShard {
                    name: name.clone(),
                    known: known.collect::<Vec<_>>().join(", "),
                })
            }
            _ => Ok(chosen),
        }
    }

    /// The accounts that each of the shards uses.
    fn providers(&self, shard: &Shard) -> Result<Providers, AdminFailure> {
        let accounts = ProviderAccounts::from_settings(
            self.settings,
            CredentialAccess::Read(&settings::credential_variable),
        )?;
        Ok(work::shard_providers(&shard.name, &accounts)?)
    }

    async fn show(&self, only: &OnlyShard) -> Result<(), AdminFailure> {
        let mut views = Vec::new();
        for shard in self.shards(only)? {
            let state = recovery::read_state(shard)
                .await
                .map_err(failed_on(shard))?;
            let held = bucket_marker::find_hold(shard).await;
            let is_held = held.map_err(failed_on(shard))?.is_some();
            views.push(RecoveryView::new(&shard.name, &state, is_held));
        }
        print_output(&self.admin.printer.render_many(&views)?)
    }

    async fn pause(
        &self,
        only: &OnlyShard,
        restored_to: Option<Timestamp>,
    ) -> Result<(), AdminFailure> {
        for shard in self.shards(only)? {
            self.record("recovery.paused", shard).await?;
            let reason = "an operator paused it";
            recovery::pause(shard, reason, None, restored_to, self.admin.now)
                .await
                .map_err(failed_on(shard))?;
        }
        self.show(only).await
    }

    async fn record(&self, action: &'static str, shard: &Shard) -> Result<(), AdminFailure> {
        let event = AuditEvent {
            action,
            subject: format!("shard {}", shard.name),
            ..AuditEvent::default()
        };
        self.admin.record(event).await
    }
}

fn failed_on(shard: &Shard) -> impl FnOnce(store::Error) -> AdminFailure + use<> {
    let shard = shard.name.to_string();
    move |source| AdminFailure::ShardFailed { shard, source }
}
