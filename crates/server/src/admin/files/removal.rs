//! Whether the removal of objects from the bucket is held, and its confirmation by an operator.

use std::sync::Arc;

use serde::Serialize;
use store::Shard;
use store::control::audit_log::AuditEvent;
use store::shard::{bucket_marker, recovery};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::printer::AdminView;

/// The state of removal on one shard.
#[derive(Debug, Serialize)]
struct RemovalView {
    shard: String,
    held_since: Option<String>,
    reason: Option<String>,
    confirmed: bool,
}

impl AdminView for RemovalView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let state = match (&self.held_since, self.confirmed) {
            (Some(since), _) => format!("held since {since}"),
            (None, true) => "confirmed: objects are removed again".to_owned(),
            (None, false) => "not held".to_owned(),
        };
        let reason = self.reason.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            ("shard", self.shard.clone()),
            ("removal", state),
            ("reason", reason),
        ]
    }
}

pub(super) async fn show(context: AdminContext<'_>) -> Result<(), AdminFailure> {
    let mut views = Vec::with_capacity(context.shards.len());
    for shard in context.shards {
        views.push(view(shard, false).await?);
    }
    crate::admin::print_output(&context.printer.render_many(&views)?)
}

pub(super) async fn confirm(
    context: AdminContext<'_>,
    only: Option<&str>,
) -> Result<(), AdminFailure> {
    let chosen: Vec<&Arc<Shard>> = context
        .shards
        .iter()
        .filter(|shard| only.is_none_or(|name| *name == *shard.name))
        .collect();
    if let (Some(name), true) = (only, chosen.is_empty()) {
        let known: Vec<&str> = context.shards.iter().map(|shard| &*shard.name).collect();
        return Err(AdminFailure::NoSuchShard {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    let mut views = Vec::with_capacity(chosen.len());
    for shard in chosen {
        if recovery::find_pause(shard).await?.is_some() {
            return Err(AdminFailure::ShardPaused(shard.name.to_string()));
        }
        let event = AuditEvent {
            action: "files.removal_confirmed",
            subject: format!("shard {}", shard.name),
            ..AuditEvent::default()
        };
        context.record(event).await?;
        let confirmed = bucket_marker::confirm_removal(shard).await?;
        views.push(view(shard, confirmed).await?);
    }
    crate::admin::print_output(&context.printer.render_many(&views)?)
}

async fn view(shard: &Shard, confirmed: bool) -> Result<RemovalView, AdminFailure> {
    let held = bucket_marker::find_hold(shard).await?;
    Ok(RemovalView {
        shard: shard.name.to_string(),
        held_since: held.as_ref().map(|hold| {
            let since = hold.since.format("%Y-%m-%d %H:%M:%S UTC");
            since.to_string()
        }),
        reason: held.map(|hold| hold.reason),
        confirmed,
    })
}
