//! Whether bytes are removed from the bucket, and an operator's word that they may be again.

use std::sync::Arc;

use serde::Serialize;
use store::Shard;
use store::shard::bucket_marker;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::printer::Shown;

/// How removal stands on one shard.
#[derive(Debug, Serialize)]
struct RemovalView {
    shard: String,
    held_since: Option<String>,
    reason: Option<String>,
    confirmed: bool,
}

impl Shown for RemovalView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let state = match (&self.held_since, self.confirmed) {
            (Some(since), _) => format!("held since {since}"),
            (None, true) => "confirmed: bytes are removed again".to_owned(),
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

pub(super) async fn show(desk: Desk<'_>) -> Result<(), AdminFailure> {
    let mut views = Vec::with_capacity(desk.shards.len());
    for shard in desk.shards {
        views.push(view(shard, false).await?);
    }
    crate::admin::say(&desk.printer.many(&views)?)
}

pub(super) async fn confirm(desk: Desk<'_>, only: Option<&str>) -> Result<(), AdminFailure> {
    let chosen: Vec<&Arc<Shard>> = desk
        .shards
        .iter()
        .filter(|shard| only.is_none_or(|name| *name == *shard.name))
        .collect();
    if let (Some(asked), true) = (only, chosen.is_empty()) {
        let known: Vec<&str> = desk.shards.iter().map(|shard| &*shard.name).collect();
        return Err(AdminFailure::NoSuchShard {
            asked: asked.to_owned(),
            known: known.join(", "),
        });
    }
    let mut views = Vec::with_capacity(chosen.len());
    for shard in chosen {
        let confirmed = bucket_marker::confirm(shard).await?;
        views.push(view(shard, confirmed).await?);
    }
    crate::admin::say(&desk.printer.many(&views)?)
}

async fn view(shard: &Shard, confirmed: bool) -> Result<RemovalView, AdminFailure> {
    let held = bucket_marker::held(shard).await?;
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
