//! Accounts at three providers whose new jobs are out of sight for a while.

use serde_json::{Value, json};

use crate::failure::Result;
use crate::fleet::accounts::{Account, Accounts};
use crate::fleet::{Fleet, Plan};
use crate::options::Common;
use crate::simulator::Simulator;

const ORGANIZATIONS: usize = 8;
const MEMORY: &str = "256MB";
/// How long a new job is out of sight, in seconds: as long as a lease, so that whoever takes over
/// from the dead may come too early to see it.
const LAG: u32 = 3;
/// At least six times the lag; a sixth of it is when a job is first asked for.
pub const GRACE: u32 = 19;
/// How long a lane rests after a job, in seconds.
const LINGER: u32 = 2;
/// One for each provider; callers name them in turn.
pub const MODELS: [&str; 3] = ["trial-openai", "trial-claude", "trial-gemini"];
/// Lease, lag and grace are as 10, 10 and 60 seconds, shortened together.
const SETTINGS: [(&str, &str); 2] = [
    ("LEASE_SECONDS", "3"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

pub const ACCOUNTS: [Account; 4] = [
    Account {
        name: "openai-main",
        kind: "openai",
        shard: None,
        base: "openai/v1",
    },
    Account {
        name: "gemini-main",
        kind: "gemini",
        shard: None,
        base: "gemini",
    },
    Account {
        name: "claude-north",
        kind: "anthropic",
        shard: Some("north"),
        base: "anthropic",
    },
    Account {
        name: "claude-south",
        kind: "anthropic",
        shard: Some("south"),
        base: "anthropic",
    },
];

pub async fn fleet(common: &Common, workers: usize) -> Result<Fleet> {
    let plan = Plan {
        accounts: Accounts {
            accounts: &ACCOUNTS,
            limits: &format!(
                "grace_seconds = {GRACE}, create_seconds = {GRACE}, linger_seconds = {LINGER}"
            ),
            models: &MODELS,
        },
        organizations: ORGANIZATIONS,
        workers,
        settings: &SETTINGS,
        memory: MEMORY,
    };
    let fleet = Fleet::build(common, plan).await?;
    prepare(&fleet.simulator).await?;
    Ok(fleet)
}

/// New jobs are out of sight for a while, still run when they are first asked for, and some
/// answers get lost.
async fn prepare(simulator: &Simulator) -> Result<()> {
    let pace = json!({"validating_ms": 500, "running_ms": 3000, "finalizing_ms": 500});
    for account in ACCOUNTS {
        let (to_pace, to_faults) = (account.path("pace"), account.path("faults"));
        simulator.ask("PUT", &to_pace, Some(&pace)).await?;
        simulator.ask("PUT", &to_faults, Some(&faults(0))).await?;
    }
    Ok(())
}

/// What goes wrong at an account; the next `losses` creations do not reach it.
pub fn faults(losses: u32) -> Value {
    json!([
        {"name": "list_lag", "seconds": LAG},
        {"name": "create_drop_before", "times": losses},
        {"name": "create_drop_after", "every": 8},
    ])
}
