//! Workers that are killed, have a wrong clock, or find a broken ledger.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::alert_monitor::ExpectedAlerts;
use crate::chaos::alerts::fault_table::{
    CLOCK_SHIFTED, DAY_LOST, LEDGER_BROKEN, LEDGER_READ_LONG_AGO, WORKERS_KILLED,
};
use crate::harness::longshored::org_setup;
use crate::harness::longshored::shifted_clock::shifted_clock_variables;
use crate::harness::{FailureContext as _, LongshoredProcess, Result, SHARD, TrialFailure};

/// Longer than the 24 hours of the service level.
const LOST_TIME: Duration = Duration::from_hours(25);
/// The next pass starts an hour after this one has finished, so workers keep it until then.
const AGE_PASS: &str = "update shard.ledger_pass set started_at = started_at - interval '27 hours'
    where finished_at is not null";
const RENEW_PASS: &str = "update shard.ledger_pass
    set started_at = started_at + interval '27 hours' where finished_at is not null";
const CHANGE_BALANCE: &str = "update shard.account set posted = posted + $2
    where organization = replace($1, 'org_', '')::uuid";

pub async fn kill_workers(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(WORKERS_KILLED).await?;
    for worker in fleet.service.workers_mut() {
        worker.child.kill();
    }
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.service.start_workers()?;
    fleet.monitor.wait_until_silent(WORKERS_KILLED).await
}

/// The organization has no cargo: a later posting would hide the fault.
pub async fn break_ledger(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(LEDGER_BROKEN).await?;
    let longshored = &fleet.service.longshored;
    let organization =
        org_setup::create_organization(longshored, "Broken ledger", "enterprise", SHARD).await?;
    org_setup::add_credit(longshored, &organization).await?;
    change_balance(fleet, &organization.id, 1).await?;
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    change_balance(fleet, &organization.id, -1).await
}

/// Its alert fires a minute later, when the metrics of before have left the window.
pub async fn age_ledger_pass(fleet: &mut AlertFleet) -> Result<ExpectedAlerts> {
    let expected = fleet.monitor.expect(LEDGER_READ_LONG_AGO).await?;
    if fleet.execute_north(AGE_PASS).await? == 0 {
        return Err(TrialFailure::new(
            "workers have not read the ledger once yet",
        ));
    }
    // A worker that no longer audits would show the time that it has read last.
    fleet.restart_workers().await?;
    Ok(expected)
}

pub async fn renew_ledger_pass(fleet: &mut AlertFleet, expected: ExpectedAlerts) -> Result<()> {
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.execute_north(RENEW_PASS).await.map(drop)
}

async fn change_balance(fleet: &AlertFleet, organization: &str, change: i64) -> Result<()> {
    let changed = sqlx::query(CHANGE_BALANCE).bind(organization).bind(change);
    let changed = changed.execute(fleet.north()?).await;
    changed.context("changing a balance").map(drop)
}

pub async fn shift_clock(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(CLOCK_SHIFTED).await?;
    for (name, value) in shifted_clock_variables("+20s")? {
        last_worker(fleet)?.set_env_var(&name, &value);
    }
    restart(last_worker(fleet)?).await?;
    fleet.monitor.wait_until_firing(expected).await?;
    last_worker(fleet)?.set_env_var("LD_PRELOAD", "");
    restart(last_worker(fleet)?).await
}

fn last_worker(fleet: &mut AlertFleet) -> Result<&mut LongshoredProcess> {
    let last = fleet.service.workers_mut().last();
    last.context("there is no worker")
}

async fn restart(worker: &mut LongshoredProcess) -> Result<()> {
    worker.terminate().await?;
    worker.start()
}

/// The time of the workers has passed twice as fast for 25 hours: for them, every new load is that
/// old.
pub async fn lose_day(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(DAY_LOST).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = now.context("reading the clock")?.saturating_sub(LOST_TIME);
    let speed = format!("2@{}", since.as_micros());
    for worker in fleet.service.workers_mut() {
        worker.set("CLOCK_SPEED", &speed);
    }
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_firing(expected).await
}
