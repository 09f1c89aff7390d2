//! `longshored admin provider …`: the accounts at providers, and how they stand on each shard.

mod view;

use clap::Subcommand;
use domain::nearest::nearest;
use serde::Serialize;
use store::shard::provider::{self, Standing};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::printer::{Printer, Shown};
use crate::admin::provider::view::{OnShard, View, rows};
use crate::failure;
use crate::providers::{Accounts, MOCK};

#[derive(Debug, Subcommand)]
pub(super) enum ProviderCommand {
    /// Show every account, its limits, and on each shard whether it is paused and what waits there.
    List,
    /// Let work go to a paused account again, on every shard.
    Resume {
        /// Its name in the file.
        name: String,
    },
}

pub(super) async fn run(
    command: ProviderCommand,
    accounts: &Accounts,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    match command {
        ProviderCommand::List => list(accounts, desk).await,
        ProviderCommand::Resume { name } => resume(&name, accounts, desk).await,
    }
}

async fn list(accounts: &Accounts, desk: Desk<'_>) -> Result<String, AdminFailure> {
    let mut told = Vec::with_capacity(desk.shards.len());
    for shard in desk.shards {
        let standings = provider::list(shard).await;
        let standings = standings.map_err(|error| failure::chain(&error));
        told.push((shard.name.to_string(), standings));
    }
    shown(accounts, &told, desk.printer)
}

/// What a shard said, or why it said nothing.
type Told = (String, Result<Vec<Standing>, String>);

fn shown(accounts: &Accounts, told: &[Told], printer: Printer) -> Result<String, AdminFailure> {
    let mut views: Vec<View> = accounts.iter().map(View::from).collect();
    for (shard, standings) in told {
        match standings {
            Ok(standings) => {
                for standing in standings.iter().filter(|it| it.name != MOCK) {
                    note(&mut views, standing, shard);
                }
            }
            Err(failure) => {
                for place in views.iter_mut().flat_map(|view| view.on(shard)) {
                    place.failure = Some(failure.clone());
                }
            }
        }
    }
    match printer {
        Printer::Json => Ok(serde_json::to_string(&views)? + "\n"),
        Printer::Text => printer.many(&rows(&views)),
    }
}

/// One that is no longer in the file is shown while something of it is on a shard.
fn note(views: &mut Vec<View>, standing: &Standing, shard: &str) {
    let is_idle = standing.open_jobs == 0 && standing.paused_at.is_none();
    let known = views.iter_mut().find(|view| view.name == standing.name);
    let view = match known {
        Some(view) => view,
        None if is_idle => return,
        None => {
            views.push(View::gone(&standing.name));
            let Some(view) = views.last_mut() else { return };
            view
        }
    };
    if view.on(shard).next().is_none() && !is_idle {
        view.shards.push(OnShard::without_share(shard));
    }
    for place in view.on(shard) {
        place.told(standing);
    }
}

async fn resume(name: &str, accounts: &Accounts, desk: Desk<'_>) -> Result<String, AdminFailure> {
    if accounts.find(name).is_none() {
        let near = nearest(name, accounts.names()).map(str::to_owned);
        return Err(AdminFailure::NoProvider {
            asked: name.to_owned(),
            hint: near.map_or_else(String::new, |near| format!("; did you mean {near}?")),
        });
    }
    let mut resumed = Vec::new();
    for shard in desk.shards {
        let is_resumed = provider::resume(shard, name).await;
        let unresumed = |source| AdminFailure::Unresumed {
            shard: shard.name.to_string(),
            source,
        };
        let is_resumed = is_resumed.map_err(unresumed)?;
        let now = shard.clock.now();
        provider::wake(shard, name, now).await.map_err(unresumed)?;
        if is_resumed {
            resumed.push(shard.name.to_string());
        }
    }
    let name = name.to_owned();
    desk.printer.one(&Resumed { name, resumed })
}

#[derive(Debug, Serialize)]
struct Resumed {
    name: String,
    /// The shards on which it was paused.
    resumed: Vec<String>,
}

impl Shown for Resumed {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let resumed = if self.resumed.is_empty() {
            "nowhere: it was not paused".to_owned()
        } else {
            format!("on {}", self.resumed.join(", "))
        };
        vec![("provider", self.name.clone()), ("resumed", resumed)]
    }
}

#[cfg(test)]
mod tests;
