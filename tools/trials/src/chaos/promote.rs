//! The primary is killed under load, and its synchronous standby is promoted immediately.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::servers::postgres;
use crate::harness::{
    BaseEnvironment, CONTROL, DatabaseLayout, DatabaseUrls, Deployment, FailureContext as _,
    Result, SHARD, ScratchFolder, SilentRelay, TrialEnvironment, TrialFailure, TrialPostgresServer,
    TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosPromoteOptions, CommonOptions, PrimaryDiscovery, value_name};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Loads run before each kill and after each promotion.
const WARM_UP: Duration = Duration::from_secs(4);
const PAUSE_AFTER_PROMOTION: Duration = Duration::from_secs(2);
/// How long commits wait for the standby, at most, before the primary is killed.
const MAX_UNREPLICATED_MILLISECONDS: u64 = 500;
/// In some rounds, how long callers reach the standby before it is promoted, at most.
const MAX_READ_ONLY_MILLISECONDS: u64 = 1000;

pub async fn run(common: &CommonOptions, options: &ChaosPromoteOptions) -> Result<TrialVerdict> {
    let mut base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let primary = base.database_server()?;
    let relay = SilentRelay::start(primary.address()).await?;
    let spare = crate::harness::servers::free_port::find_free_address()?.port();
    let standby =
        TrialPostgresServer::standby_of(primary, &base.scratch, "standby-0", spare).await?;
    primary.commit_synchronously().await?;
    // The trial itself always reaches the primary through the relay.
    let pool = primary.pool_through_relay(relay.address, SHARD);
    let urls = match options.hosts {
        PrimaryDiscovery::Relay => database_urls(&relay.address.to_string()),
        PrimaryDiscovery::List => {
            database_urls(&format!("{},{}", primary.address(), standby.address()))
        }
    };
    base.shards = vec![(SHARD.to_owned(), pool)];
    base.longshored.set_databases(&urls);
    base.postgres.push(standby);
    let mut environment = TrialEnvironment::start(base, Deployment::two_serve_three_work()).await?;
    let callers = Arc::clone(&environment.callers);

    let load = open_loop::unbalanced_load(&callers);
    let rounds = run_promotions(
        &mut environment.postgres,
        &environment.scratch,
        &relay,
        options.rounds,
    );
    let (offered, promoted) = open_loop::offer_loads_during(options.rate, load, rounds).await;
    let mut seconds = promoted?;
    for process in &mut environment.processes {
        process.child.check_running()?;
    }
    report_progress(format!(
        "{} promotions; waiting for completion",
        seconds.len()
    ));
    let settled =
        completion::wait_for_completion_tracking(&environment, SETTLE_TIMEOUT, usize::MAX).await?;

    let mut verdict = TrialVerdict::new("chaos promote");
    settled.judge(&callers, &mut verdict);
    let answers = callers.load_log.failures_by_reason();
    let others = answers.as_object().map(|answers| {
        let others = answers.keys().filter(|answer| answer.as_str() != "503");
        others.cloned().collect::<Vec<_>>()
    });
    let others = others.unwrap_or_default();
    judge! { verdict;
        record "offered" => offered.loads,
        record "offered_per_second" => statistics::round_to(offered.per_second, 1),
        record "promotions" => seconds.len(),
        record "promotion_seconds" => statistics::summarize(&mut seconds),
        record "hosts" => value_name(&options.hosts),
        record "answers_besides_202_and_503" => json!(others),
        check "a primary was killed" => !seconds.is_empty(),
        check "every load is answered 202 or 503" => others.is_empty(),
        check_figure "loads are offered at the rate" =>
            offered.per_second >= f64::from(options.rate) * 0.99,
    }
    Ok(verdict)
}

/// Both databases of the trial, at one host or several.
fn database_urls(hosts: &str) -> DatabaseUrls {
    let url = |name: &str| format!("postgres://postgres@{hosts}/{name}");
    DatabaseUrls {
        control: url(CONTROL),
        shards: vec![(SHARD.to_owned(), url(SHARD))],
    }
}

/// The first server is the primary, the second its standby. Returns the seconds from each kill
/// to the end of the promotion.
async fn run_promotions(
    servers: &mut Vec<TrialPostgresServer>,
    scratch: &ScratchFolder,
    relay: &SilentRelay,
    rounds: usize,
) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for round in 1..=rounds {
        tokio::time::sleep(WARM_UP).await;
        seconds.push(run_promotion(servers, relay, round).await?);
        tokio::time::sleep(PAUSE_AFTER_PROMOTION).await;
        if round < rounds {
            let (name, port) = (format!("standby-{round}"), spare_port(servers)?);
            let next = TrialPostgresServer::standby_of(
                postgres::first_server(servers)?,
                scratch,
                &name,
                port,
            )
            .await?;
            servers.truncate(1);
            servers.push(next);
            postgres::first_server(servers)?
                .commit_synchronously()
                .await?;
        }
    }
    Ok(seconds)
}

/// The port of the killed primary, so that the list of hosts stays valid.
fn spare_port(servers: &[TrialPostgresServer]) -> Result<u16> {
    let dead = servers.get(1).context("there is no killed primary")?;
    dead.remove_data()?;
    Ok(dead.port())
}

async fn run_promotion(
    servers: &mut [TrialPostgresServer],
    relay: &SilentRelay,
    round: usize,
) -> Result<f64> {
    let [primary, standby] = servers else {
        return Err(TrialFailure::new("there is no primary with a standby"));
    };
    // In every second round, commits wait for the standby when the primary is killed.
    if round % 2 == 1 {
        primary.stop_replication().await?;
        sleep_up_to(MAX_UNREPLICATED_MILLISECONDS).await;
    }
    report_progress(format!("killing the primary {}", primary.name()));
    primary.kill_all()?;
    let dead_since = std::time::Instant::now();
    relay.redirect(standby.address());
    if round.is_multiple_of(3) {
        sleep_up_to(MAX_READ_ONLY_MILLISECONDS).await;
    }
    standby.promote().await?;
    let taken = dead_since.elapsed().as_secs_f64();
    report_progress(format!(
        "{} is the primary after {taken:.1} s",
        standby.name()
    ));
    servers.reverse();
    Ok(taken)
}

async fn sleep_up_to(milliseconds: u64) {
    let pause = rand::random_range(0..=milliseconds);
    tokio::time::sleep(Duration::from_millis(pause)).await;
}
