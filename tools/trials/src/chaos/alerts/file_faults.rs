//! The object store is away, has lost an object, or is newer than the rows.

use std::time::Duration;

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::fault_table::{OBJECT_LOST, ROWS_WENT_BACK, STORE_KILLED};
use crate::harness::{
    FailureContext as _, PollLimits, Result, SampleFile, TrialFailure, UploadContent,
};

const FILE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(200));

pub async fn kill_store(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(STORE_KILLED).await?;
    fleet.object_store.child.kill();
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.object_store.start().await?;
    fleet.monitor.wait_until_silent(STORE_KILLED).await
}

/// Deletes the bytes of a ready file, and afterwards the file.
pub async fn lose_object(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(OBJECT_LOST).await?;
    let client = fleet.files_client()?;
    let content = UploadContent::from(SampleFile::nth(0));
    let staged = client.stage(&content).await.map_err(TrialFailure::new)?;
    let is_ready = |status: &str| status == "ready";
    let completed = staged.complete_until(FILE_LIMITS, is_ready).await?;
    if completed.string_field("status") != "ready" {
        let what = format!("a file does not become ready: {}", completed.summary());
        return Err(TrialFailure::new(what));
    }
    let digits = staged.file_id.rsplit('_').next().unwrap_or_default();
    let keys = fleet.object_store.bucket.list_keys().await?;
    let mut published = keys.iter().filter(|key| key.contains("files/"));
    let key = published.find(|key| key.ends_with(digits));
    let key = key.context("the object of a ready file is not in the bucket")?;
    fleet.object_store.bucket.delete(key).await?;
    fleet.monitor.wait_until_firing(expected).await?;
    client.delete_file(&staged.file_id).await;
    Ok(())
}

/// As after a restore: the marker in the bucket is newer than the rows.
pub async fn turn_rows_back(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(ROWS_WENT_BACK).await?;
    fleet
        .execute_north("update shard.bucket_marker set generation = 0")
        .await?;
    fleet.monitor.wait_until_firing(expected).await?;
    // The generation after acceptance must be higher than the marker.
    wait_for_marker(fleet).await?;
    for command in [["recovery", "accept"], ["files", "confirm"]] {
        let command = [["admin"].as_slice(), &command].concat();
        fleet.service.longshored.run(&command).await?;
    }
    fleet.monitor.wait_until_silent(ROWS_WENT_BACK).await
}

/// Waits until a worker has recorded the marker in the bucket.
async fn wait_for_marker(fleet: &AlertFleet) -> Result<()> {
    let pool = fleet.north()?;
    let count = async || {
        let count = "select count(*) from shard.bucket_marker where found_generation is not null";
        let count = sqlx::query_scalar::<_, i64>(count).fetch_one(pool).await;
        count.context("reading the bucket marker")
    };
    FILE_LIMITS.read_until(|it| *it > 0, count).await.map(drop)
}
