//! Provider accounts that refuse a credential, fail, or never end a job.

use std::time::Duration;

use serde_json::{Value, json};

use crate::chaos::alerts::alert_fleet::{AlertFleet, CLAUDE_ACCOUNT, OPENAI_ACCOUNT};
use crate::chaos::alerts::fault_table::{CREDENTIAL_REFUSED, PROVIDER_FAILS};
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure};

const PAUSE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(200));
/// The path of an account in the simulator's admin API begins with its provider.
const CLAUDE_PATH: &str = "anthropic";
const OPENAI_PATH: &str = "openai";

/// Starts the workers with both faults. A short run only needs the metrics of the second.
pub async fn refuse_and_fail(fleet: &mut AlertFleet, is_small: bool) -> Result<()> {
    let paused = fleet.monitor.expect(CREDENTIAL_REFUSED).await?;
    let failing = fleet.monitor.expect(PROVIDER_FAILS).await?;
    refuse_credential(fleet).await?;
    let faults = json!([{"name": "create_503"}, {"name": "poll_500"}, {"name": "list_500"}]);
    set_faults(fleet, CLAUDE_PATH, CLAUDE_ACCOUNT, &faults).await?;
    fleet.service.start_workers()?;
    wait_for_pause(fleet).await?;
    // Workers report pauses once a minute, and at their start.
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_firing(paused).await?;
    if !is_small {
        fleet.monitor.wait_until_firing(failing).await?;
        // Their panels have data now.
        set_faults(fleet, CLAUDE_PATH, CLAUDE_ACCOUNT, &json!([])).await?;
    }
    accept_credential(fleet).await
}

pub async fn refuse_credential(fleet: &AlertFleet) -> Result<()> {
    let faults = json!([{"name": "unauthorized"}]);
    set_faults(fleet, OPENAI_PATH, OPENAI_ACCOUNT, &faults).await
}

pub async fn accept_credential(fleet: &AlertFleet) -> Result<()> {
    set_faults(fleet, OPENAI_PATH, OPENAI_ACCOUNT, &json!([])).await?;
    let resume = ["admin", "provider", "resume", OPENAI_ACCOUNT];
    fleet.service.longshored.run(&resume).await.map(drop)
}

/// Replaces the faults of an account whose provider is `OpenAI`.
pub async fn set_openai_faults(fleet: &AlertFleet, account: &str, faults: &Value) -> Result<()> {
    set_faults(fleet, OPENAI_PATH, account, faults).await
}

async fn set_faults(
    fleet: &AlertFleet,
    provider: &str,
    account: &str,
    faults: &Value,
) -> Result<()> {
    let path = format!("{provider}/{account}/faults");
    let set = fleet.simulator.call_admin("PUT", &path, Some(faults));
    set.await.map(drop)
}

/// Waits until the worker has paused the account.
async fn wait_for_pause(fleet: &AlertFleet) -> Result<()> {
    let pool = fleet.north()?;
    let count = async || {
        let count = "select count(*) from shard.provider where paused_at is not null";
        let count = sqlx::query_scalar::<_, i64>(count).fetch_one(pool).await;
        count.context("reading paused accounts")
    };
    if PAUSE_LIMITS.read_until(|it| *it > 0, count).await? == 0 {
        return Err(TrialFailure::new("the account is never paused"));
    }
    Ok(())
}
