//! Accounts that accept connections and never answer, next to healthy accounts and the mock.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::chaos::neighbours::steady_load::{self, SteadyLoad};
use crate::harness::{
    BaseEnvironment, DatabaseLayout, FREE_MODEL, FaultyServer, Result, ServerFault,
    SimulatorProcess, TrialEnvironment, TrialProviderAccount, TrialVerdict,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

/// The models of the healthy organizations.
const HEALTHY_MODELS: [&str; 3] = [FREE_MODEL, "healthy-batch", "healthy-server"];
/// The first two never answer. The third accepted jobs and then stopped answering. The fourth
/// reports that it is healthy and answers no request.
const FAULTY_MODELS: [&str; 4] = [
    "silent-batch",
    "silent-server",
    "stalled-batch",
    "hung-server",
];
const ORGANIZATIONS: usize = 12;
/// For healthy models, and for faulty ones.
const LOADS_PER_SECOND: u32 = 9;
const FAULTY_LOADS_PER_SECOND: u32 = 4;
const BATCH_LIMITS: &str = "linger_seconds = 1, grace_seconds = 12";
const SERVER_LIMITS: &str = "questions = 8";
/// How long the stalled account may take to accept its first jobs.
const JOB_ACCEPT_DELAY: Duration = Duration::from_secs(4);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let mut base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let simulator = SimulatorProcess::start(&common.simulator, &base.scratch, 1).await?;
    let silent = FaultyServer::start(ServerFault::Hang)?;
    let accounts = build_accounts(&simulator, &silent);
    steady_load::set_accounts(&mut base, &accounts)?;
    // These jobs still run when their account stalls.
    let slow = json!({"validating_ms": 500, "running_ms": 600_000});
    let paced = simulator.call_admin("PUT", "openai/stalled-batch/pace", Some(&slow));
    paced.await?;
    let deployment = steady_load::deploy("provider", ORGANIZATIONS, 2);
    let environment = TrialEnvironment::start(base, deployment).await?;
    let mut members = steady_load::members(&environment);
    let faulty_members = members.split_off(ORGANIZATIONS / 2);
    let healthy = SteadyLoad::new(&environment, members, &HEALTHY_MODELS)?;
    let faulty = SteadyLoad::new(&environment, faulty_members, &FAULTY_MODELS)?;

    let length = Duration::from_secs(options.choose_size(20, 4));
    let calm = healthy.load_for(LOADS_PER_SECOND, length).await;
    healthy.wait_for_callbacks(SETTLE_TIMEOUT).await;
    load_stalled(&faulty).await;
    tokio::time::sleep(JOB_ACCEPT_DELAY).await;
    for (account, fault) in [
        ("openai/stalled-batch", "stall"),
        ("server/hung-server", "hang"),
    ] {
        let (path, body) = (format!("{account}/faults"), json!([{"name": fault}]));
        simulator.call_admin("PUT", &path, Some(&body)).await?;
    }
    let length = Duration::from_secs(options.choose_size(75, 8));
    let disturbing = faulty.load_for(FAULTY_LOADS_PER_SECOND, length);
    let (_, disturbed) = healthy.load_during(LOADS_PER_SECOND, disturbing).await;
    healthy.wait_for_callbacks(SETTLE_TIMEOUT).await;

    for model in HEALTHY_MODELS {
        let mut without = healthy.observe(calm, Some(model));
        let mut with = healthy.observe(disturbed, Some(model));
        let name = format!("provider_{}", model.replace('-', "_"));
        steady_load::judge_slowdown(verdict, &name, &mut without, &mut with);
    }
    let loads = faulty.cargo_between(disturbed).len();
    verdict
        .record("provider_faulty_loads", loads)
        .check("provider: the faulty accounts had cargo", loads > 0);
    Ok(())
}

/// Loads cargo for the account that stalls later.
async fn load_stalled(faulty: &Arc<SteadyLoad>) {
    let place = FAULTY_MODELS
        .iter()
        .position(|name| *name == "stalled-batch");
    let place = u64::try_from(place.unwrap_or_default()).unwrap_or_default();
    let count = u64::try_from(FAULTY_MODELS.len()).unwrap_or_default();
    for turn in 0..3 {
        faulty.send_load(place + turn * count).await;
    }
}

fn build_accounts(
    simulator: &SimulatorProcess,
    silent: &FaultyServer,
) -> Vec<TrialProviderAccount> {
    let batches = format!("http://{}/openai/v1", simulator.address);
    let server = format!("http://{}/server/v1", simulator.address);
    let nowhere = format!("http://{}/v1", silent.at(Ipv4Addr::LOCALHOST));
    let account = |name, kind, base_url: &String, limits: &str| TrialProviderAccount {
        name,
        kind,
        base_url: base_url.clone(),
        shard: None,
        limits: limits.to_owned(),
        has_credential: true,
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
