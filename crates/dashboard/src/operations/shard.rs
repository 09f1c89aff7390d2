//! One shard, asked for everything at once, and not for long: one that is away keeps nobody waiting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use store::Shard;
use store::migrate::{self, SchemaState};
use store::shard::bucket_marker;
use store::shard::partition::{self, DaysReady};
use store::shard::provider::{self, Standing};
use store::view::operations::{self, Deliveries, Flight, Node, Odd, Scans, Waiting};

const PATIENCE: Duration = Duration::from_millis(1500);
/// Of batches that need somebody.
const MOST: u32 = 20;

#[derive(Debug)]
pub(super) struct Told {
    pub(super) name: String,
    /// None: it did not answer in time, or failed.
    pub(super) report: Option<Report>,
}

#[derive(Debug)]
pub(super) struct Report {
    pub(super) pace: &'static str,
    pub(super) schema: SchemaState,
    pub(super) version: Option<i64>,
    pub(super) days: DaysReady,
    /// Why no bytes are removed from the bucket.
    pub(super) removal_held: Option<String>,
    pub(super) bytes: i64,
    pub(super) lanes: Vec<Waiting>,
    pub(super) flights: Vec<Flight>,
    pub(super) odd: Vec<Odd>,
    pub(super) accounts: Vec<Standing>,
    pub(super) deliveries: Deliveries,
    pub(super) scans: Scans,
    pub(super) nodes: Vec<Node>,
}

impl Report {
    pub(super) const fn schema_word(&self) -> &'static str {
        match self.schema {
            SchemaState::Current => "as this program's",
            SchemaState::AheadByOne => "one ahead of this program",
            SchemaState::Behind => "behind: run longshored migrate",
            SchemaState::Missing => "missing: run longshored migrate",
            SchemaState::TooNew => "too new for this program",
        }
    }

    pub(super) const fn schema_chip(&self) -> &'static str {
        match self.schema {
            SchemaState::Current => "good",
            SchemaState::AheadByOne => "warm",
            SchemaState::Behind | SchemaState::Missing | SchemaState::TooNew => "bad",
        }
    }
}

pub(super) async fn ask(shard: &Arc<Shard>) -> Told {
    let report = tokio::time::timeout(PATIENCE, report(shard)).await;
    let report = match report {
        Ok(Ok(report)) => Some(report),
        Ok(Err(failure)) => {
            tracing::warn!(shard = %shard.name, failure = %failure, "a shard could not be looked at");
            None
        }
        Err(_) => None,
    };
    Told {
        name: shard.name.to_string(),
        report,
    }
}

async fn report(shard: &Shard) -> Result<Report, store::Error> {
    let now = shard.clock.now();
    // The first statement may open a connection; the second is how quickly it answers.
    let schema = migrate::shard_state(shard).await?;
    let asked = Instant::now();
    let version = migrate::shard_version(shard).await?;
    let took = asked.elapsed();
    Ok(Report {
        pace: pace(took),
        schema,
        version,
        days: partition::days_ready(shard, now).await?,
        removal_held: bucket_marker::held(shard).await?.map(|hold| hold.reason),
        bytes: operations::bytes(shard).await?,
        lanes: operations::lanes(shard).await?,
        flights: operations::flights(shard).await?,
        odd: operations::odd(shard, MOST).await?,
        accounts: provider::list(shard).await?,
        deliveries: operations::deliveries(shard, now).await?,
        scans: operations::scans(shard).await?,
        nodes: operations::nodes(shard).await?,
    })
}

/// In steps, so that a page that is looked at does not change with every look.
const fn pace(took: Duration) -> &'static str {
    match took.as_millis() {
        0..10 => "under 10 ms",
        10..50 => "10 to 50 ms",
        50..200 => "50 to 200 ms",
        200..500 => "200 to 500 ms",
        _ => "over half a second",
    }
}
