//! The middle of the trial, and the restore of the database to it.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::chaos::restore::doc_page;
use crate::chaos::restore::environment::RestoreEnvironment;
use crate::harness::servers::postgres;
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure, report_progress};

/// A marker is written every five seconds, and a failover may lose one.
const MARKERS_AFTER_MIDDLE: i64 = 2;
const MARKER_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(200));
const REPLAY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(2), Duration::from_millis(100));

/// The moment to which the database is restored.
#[derive(Debug)]
pub struct Middle {
    pub restore_to: String,
    pub generation: i64,
}

impl Middle {
    pub async fn read(environment: &RestoreEnvironment) -> Result<Self> {
        let pool = environment.service.first_shard()?;
        let now: DateTime<Utc> = postgres::read_clock(pool).await?;
        Ok(Self {
            restore_to: now.format("%Y-%m-%d %H:%M:%S%.6f+00:00").to_string(),
            generation: read_generation(environment).await?,
        })
    }
}

async fn read_generation(environment: &RestoreEnvironment) -> Result<i64> {
    let pool = environment.service.first_shard()?;
    let generation = sqlx::query_scalar("select generation from shard.bucket_marker");
    let generation = generation.fetch_one(pool).await;
    generation.context("reading the bucket marker")
}

pub async fn wait_for_markers(environment: &RestoreEnvironment, middle: i64) -> Result<()> {
    let enough = middle + MARKERS_AFTER_MIDDLE;
    let read = async || read_generation(environment).await;
    let reached = MARKER_LIMITS.read_until(|it| *it >= enough, read).await?;
    if reached < enough {
        return Err(TrialFailure::new("no markers are written to the bucket"));
    }
    Ok(())
}

/// The disk of the database server is lost, and every process with it.
pub async fn restore(environment: &mut RestoreEnvironment, middle: &Middle) -> Result<()> {
    let segment = environment.server_mut()?.switch_wal().await?;
    for process in &mut environment.service.processes {
        process.child.kill();
    }
    environment
        .server_mut()?
        .wait_until_archived(&segment)
        .await?;
    environment.server_mut()?.crash().await?;
    report_progress("restoring the database");
    let script = doc_page::script("restore to a moment")?;
    environment
        .run_as_postgres(script, &middle.restore_to)
        .await?;
    environment.server_mut()?.start().await?;
    let pool = environment.service.first_shard()?;
    let is_recovering = async || {
        let query = sqlx::query_scalar("select pg_is_in_recovery()");
        let answer: std::result::Result<bool, _> = query.fetch_one(pool).await;
        Ok(answer.unwrap_or(true))
    };
    if REPLAY_LIMITS.read_until(|it| !it, is_recovering).await? {
        return Err(TrialFailure::new("the archive is not replayed to its end"));
    }
    for process in &mut environment.service.processes {
        process.start()?;
    }
    for process in &mut environment.service.processes {
        if process.serves_callers() {
            process.wait_until_ready().await?;
        }
    }
    Ok(())
}
