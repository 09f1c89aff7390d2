//! Database connections are cut while every load is repeated until it is answered.

use std::sync::Arc;
use std::time::Duration;

use crate::chaos::cutter;
use crate::chaos::keyed_loads::KeyedLoads;
use crate::chaos::scene::{Scene, Servers};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::options::{ChaosOptions, Common};
use crate::progress::say;
use crate::verdict::Verdict;

const SETTLING: Duration = Duration::from_secs(90);

pub async fn run(common: &Common, options: &ChaosOptions) -> Result<Verdict> {
    let scene = Scene::build(common, Servers::OneForAll).await?;
    let keys = Arc::new(KeyedLoads::default());
    let length = Duration::from_secs(options.seconds);
    let server = scene
        .postgres
        .first()
        .ok_or_else(|| Failure::new("no server"))?;
    let server = server.pool("postgres");
    say(format!("cutting connections for {} s", options.seconds));
    let loading = traffic::offer(options.rate, tokio::time::sleep(length), |number| {
        let (callers, keys) = (Arc::clone(&scene.callers), Arc::clone(&keys));
        async move { keys.load(&callers, number).await }
    });
    let (offered, cuts) = tokio::join!(loading, cutter::cut(&server, length));
    let cuts = cuts?;
    say(format!(
        "{} cut, {} in mid-transaction; settling",
        cuts.all, cuts.in_transaction
    ));
    let settled = settle::settle(&scene, SETTLING).await?;

    let mut verdict = Verdict::new("chaos connections");
    settled.judge(&scene.callers, &mut verdict);
    keys.judge(&scene, offered, &mut verdict).await?;
    verdict
        .note("cut", cuts.all)
        .note("cut_in_transaction", cuts.in_transaction)
        .promise(
            "something was cut in mid-transaction",
            cuts.in_transaction > 0,
        );
    Ok(verdict)
}
