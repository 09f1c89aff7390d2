//! `longshored admin provider …`: provider accounts and their state on each shard.

mod view;

use clap::Subcommand;
use domain::error_chain;
use domain::suggestion::closest_name;
use serde::Serialize;
use store::control::audit_log::AuditEvent;
use store::shard::provider::{self, ProviderStatus};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::printer::{AdminView, Printer};
use crate::admin::provider::view::{ProviderOnShard, ProviderView, rows};
use crate::providers::{MOCK, ProviderAccounts};

#[derive(Debug, Subcommand)]
pub(super) enum ProviderCommand {
    /// List every account with its limits and, per shard, its state, open jobs and enqueued tokens.
    List,
    /// Resume a paused account on every shard.
    Resume {
        /// Name of the account in `SVC_PROVIDERS_FILE`.
        name: String,
    },
}

pub(super) async fn run(
    command: ProviderCommand,
    accounts: &ProviderAccounts,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        ProviderCommand::List => list(accounts, context).await,
        ProviderCommand::Resume { name } => resume(&name, accounts, context).await,
    }
}

async fn list(
    accounts: &ProviderAccounts,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let mut answers = Vec::with_capacity(context.shards.len());
    for shard in context.shards {
        let statuses = provider::list(shard).await;
        let statuses = statuses.map_err(|error| error_chain::chain(&error));
        answers.push((shard.name.to_string(), statuses));
    }
    render(accounts, &answers, context.printer)
}

/// A shard's accounts, or why it did not answer.
type ShardAnswer = (String, Result<Vec<ProviderStatus>, String>);

fn render(
    accounts: &ProviderAccounts,
    answers: &[ShardAnswer],
    printer: Printer,
) -> Result<String, AdminFailure> {
    let mut views: Vec<ProviderView> = accounts.iter().map(ProviderView::from).collect();
    for (shard, statuses) in answers {
        match statuses {
            Ok(statuses) => {
                for status in statuses.iter().filter(|it| it.name != MOCK) {
                    add_status(&mut views, status, shard);
                }
            }
            Err(failure) => {
                for on_shard in views.iter_mut().flat_map(|view| view.on_shard(shard)) {
                    on_shard.failure = Some(failure.clone());
                }
            }
        }
    }
    match printer {
        Printer::Json => Ok(serde_json::to_string(&views)? + "\n"),
        Printer::Text => printer.render_many(&rows(&views)),
    }
}

/// An account that is no longer in the file is listed while it has open jobs or is paused.
fn add_status(views: &mut Vec<ProviderView>, status: &ProviderStatus, shard: &str) {
    let is_idle = status.open_jobs == 0 && status.paused_at.is_none();
    let known = views.iter_mut().find(|view| view.name == status.name);
    let view = match known {
        Some(view) => view,
        None if is_idle => return,
        None => {
            views.push(ProviderView::not_in_file(&status.name));
            let Some(view) = views.last_mut() else { return };
            view
        }
    };
    if view.on_shard(shard).next().is_none() && !is_idle {
        view.shards.push(ProviderOnShard::without_share(shard));
    }
    for on_shard in view.on_shard(shard) {
        on_shard.update(status);
    }
}

async fn resume(
    name: &str,
    accounts: &ProviderAccounts,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    if accounts.find(name).is_none() {
        let near = closest_name(name, accounts.names()).map(str::to_owned);
        return Err(AdminFailure::NoProvider {
            name: name.to_owned(),
            hint: near.map_or_else(String::new, |near| format!("; did you mean {near}?")),
        });
    }
    let event = AuditEvent {
        action: "account.resumed",
        subject: name.to_owned(),
        detail: "on every shard".to_owned(),
        ..AuditEvent::default()
    };
    context.record(event).await?;
    let mut resumed = Vec::new();
    for shard in context.shards {
        let is_resumed = provider::resume(shard, name).await;
        let unresumed = |source| AdminFailure::ResumeFailed {
            shard: shard.name.to_string(),
            source,
        };
        let is_resumed = is_resumed.map_err(unresumed)?;
        let now = shard.clock.now();
        provider::wake_waiting(shard, name, now)
            .await
            .map_err(unresumed)?;
        if is_resumed {
            resumed.push(shard.name.to_string());
        }
    }
    let name = name.to_owned();
    context.printer.render_one(&ResumeView { name, resumed })
}

#[derive(Debug, Serialize)]
struct ResumeView {
    name: String,
    /// The shards on which it was paused.
    resumed: Vec<String>,
}

impl AdminView for ResumeView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let resumed = if self.resumed.is_empty() {
            "no: it was not paused on any shard".to_owned()
        } else {
            format!("on {}", self.resumed.join(", "))
        };
        vec![("provider", self.name.clone()), ("resumed", resumed)]
    }
}

#[cfg(test)]
mod tests;
