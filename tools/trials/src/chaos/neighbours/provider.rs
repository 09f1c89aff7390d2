//! Accounts that accept connections and never answer, beside healthy accounts and the mock.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::catalogue::FREE;
use crate::chaos::neighbours::accounts::{self, Account};
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::sick::{SickServer, Symptom};
use crate::chaos::neighbours::victims::{self, Victims};
use crate::failure::Result;
use crate::options::{Common, NeighboursOptions};
use crate::simulator::Simulator;
use crate::stand::{CHAOS_MEMORY, Stand};
use crate::verdict::Verdict;

/// The victims' models.
const HEALTHY: [&str; 3] = [FREE, "healthy-batch", "healthy-server"];
/// The first two never answer at all. The third took its jobs and answers no more; the fourth
/// says that it is well and answers no question.
const SICK: [&str; 4] = [
    "silent-batch",
    "silent-server",
    "stalled-batch",
    "hung-server",
];
const ORGANIZATIONS: usize = 12;
/// Loads a second, of the victims and for the sick accounts.
const RATE: u32 = 9;
const SICK_RATE: u32 = 4;
const BATCH_LIMITS: &str = "linger_seconds = 1, grace_seconds = 12";
const SERVER_LIMITS: &str = "questions = 8";
/// How long the stalled account may take to accept its first jobs.
const ACCEPTING: Duration = Duration::from_secs(4);
const SETTLING: Duration = Duration::from_secs(20);

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let mut stand = Stand::build(common, CHAOS_MEMORY).await?;
    let simulator = Simulator::start(&common.simulator, &stand.scratch, 1).await?;
    let silent = SickServer::start(Symptom::Hang)?;
    let accounts = accounts_of(&simulator, &silent);
    for (name, value) in accounts::write(stand.scratch.path(), &accounts)? {
        stand.longshored.set(name, &value);
    }
    // Jobs that are still run when their account stalls.
    let slow = json!({"validating_ms": 500, "running_ms": 600_000});
    let paced = simulator.ask("PUT", "openai/stalled-batch/pace", Some(&slow));
    paced.await?;
    let plan = Plan {
        part: "provider",
        organizations: ORGANIZATIONS,
        workers: 2,
        settings: &[],
        open_files: None,
    };
    let environment = Environment::start(stand, plan).await?;
    let mut members = environment.members();
    let sick_members = members.split_off(ORGANIZATIONS / 2);
    let receipts = &environment.receiver.receipts;
    let serving = environment.serving.address();
    let healthy = Victims::new(serving, members, &HEALTHY, receipts);
    let sick = Victims::new(serving, sick_members, &SICK, receipts);

    let length = Duration::from_secs(options.size(20, 8));
    let ((), calm) = healthy.load_during(RATE, tokio::time::sleep(length)).await;
    healthy.settle(SETTLING).await;
    load_stalled(&sick).await;
    tokio::time::sleep(ACCEPTING).await;
    for (account, fault) in [
        ("openai/stalled-batch", "stall"),
        ("server/hung-server", "hang"),
    ] {
        let (path, faults) = (format!("{account}/faults"), json!([{"name": fault}]));
        simulator.ask("PUT", &path, Some(&faults)).await?;
    }
    let length = Duration::from_secs(options.size(75, 20));
    let ((), beside) = healthy
        .load_during(RATE, async {
            sick.load_during(SICK_RATE, tokio::time::sleep(length))
                .await;
        })
        .await;
    healthy.settle(SETTLING).await;

    for model in HEALTHY {
        let mut without = healthy.observe(calm, Some(model));
        let mut with = healthy.observe(beside, Some(model));
        let name = format!("provider_{}", model.replace('-', "_"));
        victims::compare(verdict, &name, &mut without, &mut with);
    }
    let loads = sick.between(beside).len();
    verdict
        .note("provider_sick_loads", loads)
        .promise("provider: the sick accounts had cargo", loads > 0);
    Ok(())
}

/// Something for the account that stalls later.
async fn load_stalled(sick: &Arc<Victims>) {
    let place = SICK.iter().position(|name| *name == "stalled-batch");
    let place = u64::try_from(place.unwrap_or_default()).unwrap_or_default();
    let count = u64::try_from(SICK.len()).unwrap_or_default();
    for turn in 0..3 {
        sick.load(place + turn * count).await;
    }
}

fn accounts_of(simulator: &Simulator, silent: &SickServer) -> Vec<Account> {
    let batches = format!("http://{}/openai/v1", simulator.address);
    let server = format!("http://{}/server/v1", simulator.address);
    let nowhere = format!("http://{}/v1", silent.at(Ipv4Addr::LOCALHOST));
    let account = |name, kind, base_url: &String, limits| Account {
        name,
        kind,
        base_url: base_url.clone(),
        limits,
    };
    vec![
        account("healthy-batch", "openai", &batches, BATCH_LIMITS),
        account("silent-batch", "openai", &nowhere, BATCH_LIMITS),
        account("stalled-batch", "openai", &batches, BATCH_LIMITS),
        account("healthy-server", "server", &server, SERVER_LIMITS),
        account("silent-server", "server", &nowhere, SERVER_LIMITS),
        account("hung-server", "server", &server, SERVER_LIMITS),
    ]
}
