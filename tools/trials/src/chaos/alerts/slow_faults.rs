//! Faults whose alerts take longest. They do not affect each other, so they happen together.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::chaos::alerts::alert_fleet::{AlertFleet, STUCK_ACCOUNT};
use crate::chaos::alerts::fault_table::SLOW_FAULTS;
use crate::chaos::alerts::provider_faults;
use crate::harness::servers::postgres;
use crate::harness::{
    ClamdLimits, FailureContext as _, PollLimits, Result, SampleFile, TrialFailure, UploadContent,
};

const STUCK_JOB_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(200));
/// As if its cancellation had been requested two hours ago. A job that was sent before the fault of
/// the simulator ends like any other.
const CANCEL_LONG_AGO: &str = "
update shard.batch b set cancel_wanted_at = now() - interval '2 hours',
    cancelled_at = now() - interval '2 hours', next_poll_at = now()
from shard.lane l
where l.id = b.lane and l.provider = 'openai-stuck' and b.state = 'running' and b.node is null
    and b.sent_at > $1";

pub async fn cause_slow_faults(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(SLOW_FAULTS).await?;
    provider_faults::refuse_credential(fleet).await?;
    // The audit runs on one node, under this lock.
    let mut session = fleet.connect_north().await?;
    let lock = "select pg_advisory_lock(hashtext('longshore.audit'))";
    postgres::execute(&mut session, lock).await?;
    fleet
        .execute_north(
            "alter table shard.erasure rename to erasure_away;
             alter table shard.resend rename to resend_away",
        )
        .await?;
    leave_file_unverified(fleet).await?;
    fleet.delete_program()?;
    spoil_host(fleet).await?;
    let stuck = json!([{"name": "stuck"}]);
    provider_faults::set_openai_faults(fleet, STUCK_ACCOUNT, &stuck).await?;
    let since = postgres::read_clock(fleet.north()?).await?;
    abandon_job(fleet, since).await?;
    fleet.monitor.wait_until_firing(expected).await?;

    provider_faults::set_openai_faults(fleet, STUCK_ACCOUNT, &json!([])).await?;
    fleet.restore_program()?;
    fleet.scanner.start(ClamdLimits::Sufficient).await?;
    fleet
        .execute_north(
            "alter table shard.erasure_away rename to erasure;
             alter table shard.resend_away rename to resend",
        )
        .await?;
    postgres::execute(&mut session, "select pg_advisory_unlock_all()").await?;
    provider_faults::accept_credential(fleet).await
}

/// Kills the scanner, with a file that waits for it.
async fn leave_file_unverified(fleet: &mut AlertFleet) -> Result<()> {
    let client = fleet.files_client()?;
    let content = UploadContent::from(SampleFile::nth(0));
    let staged = client.stage(&content).await.map_err(TrialFailure::new)?;
    fleet.scanner.child.kill();
    let completed = staged.complete().await;
    if completed.status == 202 {
        return Ok(());
    }
    let what = format!(
        "a file does not wait for the scanner: {}",
        completed.summary()
    );
    Err(TrialFailure::new(what))
}

async fn spoil_host(fleet: &mut AlertFleet) -> Result<()> {
    let hosts = fleet.hosts.as_mut().context("no exporter runs")?;
    hosts.disk.fill()?;
    hosts.let_certificate_expire().await
}

/// Waits until a job of the account runs that will never end: one that was sent after this time.
async fn abandon_job(fleet: &AlertFleet, since: DateTime<Utc>) -> Result<()> {
    let pool = fleet.north()?;
    let abandon = async || {
        let abandoned = sqlx::query(CANCEL_LONG_AGO).bind(since).execute(pool).await;
        let abandoned = abandoned.context("setting a cancellation back");
        abandoned.map(|done| done.rows_affected())
    };
    if STUCK_JOB_LIMITS.read_until(|it| *it > 0, abandon).await? == 0 {
        return Err(TrialFailure::new("no job of the stuck account runs"));
    }
    Ok(())
}
