//! Cuts database connections while every load is retried until it is answered.

use std::sync::Arc;
use std::time::Duration;

use crate::chaos::completion;
use crate::chaos::connection_cutter;
use crate::chaos::environment::{ChaosEnvironment, DatabaseLayout};
use crate::chaos::idempotent_loads::IdempotentLoads;
use crate::chaos::open_loop;
use crate::failure::{Result, TrialFailure};
use crate::options::{ChaosLoadOptions, CommonOptions};
use crate::progress::report_progress;
use crate::verdict::TrialVerdict;

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);

pub async fn run(common: &CommonOptions, options: &ChaosLoadOptions) -> Result<TrialVerdict> {
    let environment = ChaosEnvironment::build_default(common, DatabaseLayout::SharedServer).await?;
    let keys = Arc::new(IdempotentLoads::default());
    let length = Duration::from_secs(options.seconds);
    let server = environment
        .postgres
        .first()
        .ok_or_else(|| TrialFailure::new("no database server is running"))?;
    let server = server.pool("postgres");
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
