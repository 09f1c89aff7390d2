//! Database connections are cut and hang while every load is retried until it is answered.

pub mod connection_cutter;
pub mod hung_connections;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::chaos::connections::connection_cutter::CutCounts;
use crate::chaos::connections::hung_connections::HangCounts;
use crate::chaos::idempotent_loads::IdempotentLoads;
use crate::harness::build_profile;
use crate::harness::checks::completion;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::DatabaseLayout;
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::Result;
use crate::harness::load::open_loop;
use crate::harness::progress::report_progress;
use crate::harness::relays::silent_relay::SilentRelay;
use crate::harness::verdict::TrialVerdict;
use crate::options::{ChaosLoadOptions, CommonOptions};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The longest silence, the deadline of a transaction, and the time in which the result of a lost
/// COMMIT is searched for, with a margin.
const MAX_ANSWER_SECONDS: f64 = 30.0;

pub async fn run(common: &CommonOptions, options: &ChaosLoadOptions) -> Result<TrialVerdict> {
    let base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SharedServer).await?;
    let mut deployment = Deployment::two_all();
    let address = base.database_server()?.address();
    let relays = deployment.add_silent_relays(address).await?;
    let environment = TrialEnvironment::start(base, deployment).await?;
    let keys = Arc::new(IdempotentLoads::default());
    let server = environment.database_server()?.pool("postgres");
    report_progress(format!(
        "connections are cut or hang for {} s",
        options.seconds
    ));
    let faults = break_connections(&server, &relays, Duration::from_secs(options.seconds));
    let load = |number| {
        let (callers, keys) = (Arc::clone(&environment.callers), Arc::clone(&keys));
        async move { keys.load(&callers, number).await }
    };
    let (offered, broken) = open_loop::offer_loads_during(options.rate, load, faults).await;
    let (cuts, hangs) = broken?;
    report_progress(format!(
        "{} connections cut, {} inside a transaction; {} hung inside a transaction; waiting for \
         completion",
        cuts.total, cuts.in_transaction, hangs.in_transaction
    ));
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos connections");
    settled.judge(&environment.callers, &mut verdict);
    keys.judge(&environment, offered.loads, &mut verdict)
        .await?;
    verdict
        .record("cut", cuts.total)
        .record("cut_in_transaction", cuts.in_transaction)
        .record("silences", hangs.silences)
        .record("hung_in_transaction", hangs.in_transaction)
        .check(
            "a connection was cut inside a transaction",
            cuts.in_transaction > 0,
        )
        .check(
            "a connection hung inside a transaction",
            hangs.in_transaction > 0,
        )
        .check_figure(
            "every load is answered within 30 s, however its connection hangs",
            keys.slowest_seconds() <= MAX_ANSWER_SECONDS,
        );
    Ok(verdict)
}

/// Cuts connections for some seconds, then lets those of one process hang, in turns.
async fn break_connections(
    server: &PgPool,
    relays: &[SilentRelay],
    length: Duration,
) -> Result<(CutCounts, HangCounts)> {
    let begun = Instant::now();
    let (mut cuts, mut hangs) = (CutCounts::default(), HangCounts::default());
    let is_missing = |cuts: &CutCounts, hangs: &HangCounts| {
        cuts.in_transaction == 0 || hangs.in_transaction == 0
    };
    // It depends on chance, and on the speed of the machine, how soon both have happened.
    while begun.elapsed() < length
        || is_missing(&cuts, &hangs) && begun.elapsed() < build_profile::extend_timeout(length)
    {
        let turn = Duration::from_millis(rand::random_range(2_000..=4_000));
        connection_cutter::cut_connections(server, turn, &mut cuts).await?;
        hung_connections::hang_process(server, relays, &mut hangs).await?;
    }
    Ok((cuts, hangs))
}
