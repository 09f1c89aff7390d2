//! Redis, the licence, the audit file and the key management service fail.

use std::fs;

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::fault_table::{
    AUDIT_FILE_BLOCKED, KEY_SERVICE_AWAY, LICENCE_DAMAGED, REDIS_KILLED,
};
use crate::harness::longshored::org_setup;
use crate::harness::{FailureContext as _, Result, SHARD};

pub async fn kill_redis(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(REDIS_KILLED).await?;
    fleet.service.redis.child.kill();
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.service.redis.start().await?;
    fleet.monitor.wait_until_silent(REDIS_KILLED).await
}

pub async fn damage_licence(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(LICENCE_DAMAGED).await?;
    let file = fleet.scratch.join("licence.json");
    let licence = fs::read(&file).context("reading the licence")?;
    fs::write(&file, "damaged").context("damaging the licence")?;
    fleet.server_process()?.child.signal("HUP")?;
    fleet.monitor.wait_until_firing(expected).await?;
    fs::write(&file, licence).context("repairing the licence")?;
    fleet.server_process()?.child.signal("HUP")?;
    fleet.monitor.wait_until_silent(LICENCE_DAMAGED).await
}

/// A folder takes the place of the file, which also stops root.
pub async fn block_audit_file(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(AUDIT_FILE_BLOCKED).await?;
    let file = fleet.audit_file();
    let rotated = file.with_extension("old");
    fs::rename(&file, &rotated).context("rotating the audit file")?;
    fs::create_dir(&file).context("blocking the audit file")?;
    // Its entries in the audit log cannot be written.
    let longshored = &fleet.service.longshored;
    org_setup::create_organization(longshored, "Audited", "enterprise", SHARD).await?;
    fleet.monitor.wait_until_firing(expected).await?;
    fs::remove_dir(&file).context("repairing the audit file")?;
    fleet.monitor.wait_until_silent(AUDIT_FILE_BLOCKED).await
}

/// Workers remember unwrapped keys for an hour, so they are restarted.
pub async fn stop_key_service(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(KEY_SERVICE_AWAY).await?;
    fleet.stop_key_service()?;
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.start_key_service()?;
    fleet.monitor.wait_until_silent(KEY_SERVICE_AWAY).await
}
