//! Accounts at three providers whose new jobs are invisible for a while.

use serde_json::{Value, json};

use crate::harness::{
    CHAOS_MEMORY, Deployment, ProviderEnvironment, Result, SimulatorProcess, TrialAccount,
    TrialAccounts,
};
use crate::options::CommonOptions;

const ORGANIZATIONS: usize = 8;
/// How long a new job is invisible: as long as a lease, so that a worker that takes over may be
/// too early to see it.
const LIST_LAG_SECONDS: u32 = 3;
/// At least six times the lag; workers first ask for a job after a sixth of it.
pub const GRACE_SECONDS: u32 = 19;
/// How long a lane waits after a job.
const LINGER_SECONDS: u32 = 2;
/// One for each provider; callers use them in turn.
pub const MODELS: [&str; 3] = ["trial-openai", "trial-claude", "trial-gemini"];
/// Lease, lag and grace have the ratio of the defaults: 10, 10 and 60 seconds.
const SETTINGS: [(&str, &str); 2] = [
    ("LEASE_SECONDS", "3"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

pub const ACCOUNTS: [TrialAccount; 4] = [
    TrialAccount {
        name: "openai-main",
        kind: "openai",
        shard: None,
        base_path: "openai/v1",
    },
    TrialAccount {
        name: "gemini-main",
        kind: "gemini",
        shard: None,
        base_path: "gemini",
    },
    TrialAccount {
        name: "claude-north",
        kind: "anthropic",
        shard: Some("north"),
        base_path: "anthropic",
    },
    TrialAccount {
        name: "claude-south",
        kind: "anthropic",
        shard: Some("south"),
        base_path: "anthropic",
    },
];

pub async fn build_environment(
    common: &CommonOptions,
    workers: usize,
) -> Result<ProviderEnvironment> {
    let limits = format!(
        "grace_seconds = {GRACE_SECONDS}, create_seconds = {GRACE_SECONDS}, linger_seconds = {LINGER_SECONDS}"
    );
    let accounts = TrialAccounts {
        accounts: &ACCOUNTS,
        limits: &limits,
        models: &MODELS,
    };
    let deployment = Deployment::one_serve("", workers)
        .with_organizations(ORGANIZATIONS)
        .with_settings(&SETTINGS);
    let environment =
        ProviderEnvironment::build(common, accounts, deployment, CHAOS_MEMORY).await?;
    configure_simulator(&environment.simulator).await?;
    Ok(environment)
}

/// New jobs are invisible for a while, still run when workers first ask for them, and some
/// answers are lost.
async fn configure_simulator(simulator: &SimulatorProcess) -> Result<()> {
    let pace = json!({"validating_ms": 500, "running_ms": 3000, "finalizing_ms": 500});
    for account in ACCOUNTS {
        let (to_pace, to_faults) = (account.admin_path("pace"), account.admin_path("faults"));
        simulator.call_admin("PUT", &to_pace, Some(&pace)).await?;
        simulator
            .call_admin("PUT", &to_faults, Some(&account_faults(0)))
            .await?;
    }
    Ok(())
}

/// The faults of an account; the next `losses` creations never reach it.
pub fn account_faults(losses: u32) -> Value {
    json!([
        {"name": "list_lag", "seconds": LIST_LAG_SECONDS},
        {"name": "create_drop_before", "times": losses},
        {"name": "create_drop_after", "every": 8},
    ])
}
