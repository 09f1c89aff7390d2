//! The status of one shard, read with a timeout so that a slow shard does not block the page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use store::Shard;
use store::migrate::{self, SchemaState};
use store::shard::bucket_marker;
use store::shard::partition::{self, DaysReady};
use store::shard::provider::{self, ProviderStatus};
use store::shard::recovery;
use store::view::operations::{
    self, BatchStateSummary, DelayedBatch, DeliveryBacklog, LaneBacklog, NodeStatus, ScanBacklog,
};

const SHARD_TIMEOUT: Duration = Duration::from_millis(1500);
const MAX_DELAYED_BATCHES: u32 = 20;

#[derive(Debug)]
pub(super) struct ShardStatus {
    pub(super) name: String,
    /// None if the shard timed out or failed.
    pub(super) report: Option<ShardReport>,
}

#[derive(Debug)]
pub(super) struct ShardReport {
    pub(super) latency: &'static str,
    pub(super) schema: SchemaState,
    pub(super) version: Option<i64>,
    pub(super) days: DaysReady,
    /// Why the shard is paused.
    pub(super) pause_reason: Option<String>,
    /// Why file removal from the bucket is on hold.
    pub(super) removal_hold_reason: Option<String>,
    pub(super) bytes: i64,
    pub(super) lanes: Vec<LaneBacklog>,
    pub(super) open_batches: Vec<BatchStateSummary>,
    pub(super) delayed_batches: Vec<DelayedBatch>,
    pub(super) accounts: Vec<ProviderStatus>,
    pub(super) deliveries: DeliveryBacklog,
    pub(super) scans: ScanBacklog,
    pub(super) nodes: Vec<NodeStatus>,
}

impl ShardReport {
    pub(super) const fn schema_text(&self) -> &'static str {
        match self.schema {
            SchemaState::Current => "up to date",
            SchemaState::AheadSupported => "newer than this program, and supports it",
            SchemaState::Behind => "behind: run longshored migrate",
            SchemaState::Missing => "not migrated: run longshored migrate",
            SchemaState::TooNew => "too new: upgrade this program",
        }
    }

    pub(super) const fn schema_chip(&self) -> &'static str {
        match self.schema {
            SchemaState::Current => "good",
            SchemaState::AheadSupported => "warm",
            SchemaState::Behind | SchemaState::Missing | SchemaState::TooNew => "bad",
        }
    }
}

pub(super) async fn check_shard(shard: &Arc<Shard>) -> ShardStatus {
    let report = tokio::time::timeout(SHARD_TIMEOUT, read_report(shard)).await;
    let report = match report {
        Ok(Ok(report)) => Some(report),
        Ok(Err(failure)) => {
            tracing::warn!(shard = %shard.name, failure = %failure, "shard status unreadable");
            None
        }
        Err(_) => None,
    };
    ShardStatus {
        name: shard.name.to_string(),
        report,
    }
}

async fn read_report(shard: &Shard) -> Result<ShardReport, store::Error> {
    let now = shard.clock.now();
    // The first statement may open a connection, so the second one is timed.
    let schema = migrate::shard_state(shard).await?;
    let started = Instant::now();
    let version = migrate::shard_version(shard).await?;
    let took = started.elapsed();
    Ok(ShardReport {
        latency: latency_range(took),
        schema,
        version,
        days: partition::read_days_ready(shard, now).await?,
        pause_reason: recovery::find_pause(shard).await?.map(|pause| pause.reason),
        removal_hold_reason: bucket_marker::find_hold(shard)
            .await?
            .map(|hold| hold.reason),
        bytes: operations::read_database_size(shard).await?,
        lanes: operations::list_lane_backlogs(shard).await?,
        open_batches: operations::summarize_batches(shard).await?,
        delayed_batches: operations::list_delayed_batches(shard, MAX_DELAYED_BATCHES).await?,
        accounts: provider::list(shard).await?,
        deliveries: operations::read_delivery_backlog(shard, now).await?,
        scans: operations::read_scan_backlog(shard).await?,
        nodes: operations::list_shard_nodes(shard).await?,
    })
}

/// A range, so that the live page does not change with every measurement.
const fn latency_range(took: Duration) -> &'static str {
    match took.as_millis() {
        0..10 => "under 10 ms",
        10..50 => "10 to 50 ms",
        50..200 => "50 to 200 ms",
        200..500 => "200 to 500 ms",
        _ => "over 500 ms",
    }
}
