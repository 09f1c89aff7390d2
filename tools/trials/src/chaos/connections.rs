//! Cuts database connections while every load is retried until it is answered.

pub mod connection_cutter;

use std::sync::Arc;
use std::time::Duration;

use crate::chaos::idempotent_loads::IdempotentLoads;
use crate::harness::checks::completion;
use crate::harness::environment::databases::DatabaseLayout;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::Result;
use crate::harness::load::open_loop;
use crate::harness::progress::report_progress;
use crate::harness::verdict::TrialVerdict;
use crate::options::{ChaosLoadOptions, CommonOptions};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);

pub async fn run(common: &CommonOptions, options: &ChaosLoadOptions) -> Result<TrialVerdict> {
    let environment = TrialEnvironment::build_default(common, DatabaseLayout::SharedServer).await?;
    let keys = Arc::new(IdempotentLoads::default());
    let length = Duration::from_secs(options.seconds);
    let server = environment.database_server()?.pool("postgres");
    report_progress(format!("cutting connections for {} s", options.seconds));
    let loading = open_loop::offer_loads(options.rate, tokio::time::sleep(length), |number| {
        let (callers, keys) = (Arc::clone(&environment.callers), Arc::clone(&keys));
        async move { keys.load(&callers, number).await }
    });
    let (offered, cuts) =
        tokio::join!(loading, connection_cutter::cut_connections(&server, length));
    let cuts = cuts?;
    report_progress(format!(
        "{} connections cut, {} inside a transaction; waiting for completion",
        cuts.total, cuts.in_transaction
    ));
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos connections");
    settled.judge(&environment.callers, &mut verdict);
    keys.judge(&environment, offered, &mut verdict).await?;
    verdict
        .record("cut", cuts.total)
        .record("cut_in_transaction", cuts.in_transaction)
        .check(
            "a connection was cut inside a transaction",
            cuts.in_transaction > 0,
        );
    Ok(verdict)
}
