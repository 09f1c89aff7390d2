//! `longshored admin recovery accept`: ends the pause.

use std::sync::Arc;
use std::time::Duration;

use domain::recovery::JobFate;
use serde::Serialize;
use store::Shard;
use store::shard::{bucket_marker, recovery};
use workers::recovery::MARKER_INTERVAL;

use crate::admin::AdminFailure;
use crate::admin::print_output;
use crate::admin::printer::{AdminView, or_dash};
use crate::admin::recovery::erasures::ReplayedErasures;
use crate::admin::recovery::{
    JobSearchArguments, OnlyShard, RecoveryContext, erasures, failed_on, jobs,
};

/// How many markers another database would write in the time for which the bucket is watched.
const WATCHED_MARKERS: i32 = 2;

/// What accepting a shard did.
#[derive(Debug, Serialize)]
struct AcceptedView {
    shard: String,
    was_paused: bool,
    /// Of all shards together.
    erasures_replayed: usize,
    /// Their cargo is in flight: repeat `longshored admin erase` when it has ended.
    erasures_to_repeat: Vec<String>,
    jobs_adopted: usize,
    jobs_cancelled: usize,
    /// Jobs that may be ours, and were left alone.
    jobs_reported: u64,
}

impl AdminView for AcceptedView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let state = if self.was_paused {
            "accepted: workers continue"
        } else {
            "was not paused"
        };
        let to_repeat = self.erasures_to_repeat.join(", ");
        let to_repeat = or_dash((!to_repeat.is_empty()).then_some(&to_repeat));
        vec![
            ("shard", self.shard.clone()),
            ("recovery", state.to_owned()),
            ("erasures replayed", self.erasures_replayed.to_string()),
            ("erasures to repeat", to_repeat),
            ("jobs adopted", self.jobs_adopted.to_string()),
            ("jobs cancelled", self.jobs_cancelled.to_string()),
            ("jobs only reported", self.jobs_reported.to_string()),
        ]
    }
}

pub(super) async fn run(
    context: RecoveryContext<'_>,
    only: &OnlyShard,
    search: &JobSearchArguments,
) -> Result<(), AdminFailure> {
    let mut paused = Vec::new();
    let mut views = Vec::new();
    for shard in context.shards(only)? {
        let pause = recovery::find_pause(shard)
            .await
            .map_err(failed_on(shard))?;
        match pause {
            Some(_) => paused.push(shard),
            None => views.push(AcceptedView::not_paused(&shard.name)),
        }
    }
    check_no_other_writer(context, &paused).await?;
    let erasures = if paused.is_empty() {
        ReplayedErasures::default()
    } else {
        erasures::replay(context).await?
    };
    let to_repeat = erasures.incomplete.iter().map(ToString::to_string);
    let to_repeat: Vec<String> = to_repeat.collect();
    for shard in paused {
        let (providers, found) = jobs::find(context, shard, search).await?;
        jobs::resolve(shard, &providers, &found).await?;
        context.record("recovery.accepted", shard).await?;
        let now = context.admin.now;
        recovery::accept(shard, now)
            .await
            .map_err(failed_on(shard))?;
        let count = |fate| found.jobs.iter().filter(|job| job.fate == fate).count();
        let cancelled = count(JobFate::Cancel);
        views.push(AcceptedView {
            shard: shard.name.to_string(),
            was_paused: true,
            erasures_replayed: erasures.count,
            erasures_to_repeat: to_repeat.clone(),
            jobs_adopted: count(JobFate::Adopt),
            jobs_cancelled: cancelled,
            jobs_reported: found.count_unknown().saturating_sub(cancelled as u64),
        });
    }
    print_output(&context.admin.printer.render_many(&views)?)
}

impl AcceptedView {
    fn not_paused(shard: &str) -> Self {
        Self {
            shard: shard.to_owned(),
            was_paused: false,
            erasures_replayed: 0,
            erasures_to_repeat: Vec::new(),
            jobs_adopted: 0,
            jobs_cancelled: 0,
            jobs_reported: 0,
        }
    }
}

/// While another database writes markers to the bucket, its installation is alive: its jobs would
/// be cancelled.
async fn check_no_other_writer(
    context: RecoveryContext<'_>,
    shards: &[&Arc<Shard>],
) -> Result<(), AdminFailure> {
    let (Some(objects), false) = (context.objects, shards.is_empty()) else {
        return Ok(());
    };
    let mut before = Vec::new();
    for shard in shards {
        before.push(objects.read_marker(&shard.name).await?);
    }
    tokio::time::sleep(watch_time()).await;
    for (shard, before) in shards.iter().zip(before) {
        let found = objects.read_marker(&shard.name).await?;
        if found != before {
            return Err(AdminFailure::OtherDatabaseIsAlive(shard.name.to_string()));
        }
        let recorded = bucket_marker::record_found(shard, found).await;
        recorded.map_err(failed_on(shard))?;
    }
    Ok(())
}

fn watch_time() -> Duration {
    (MARKER_INTERVAL * WATCHED_MARKERS)
        .to_std()
        .unwrap_or_default()
}
