//! Statements fail, hang, or run with their answer lost, while loads with an idempotency
//! key are repeated until they are answered.

use std::sync::Arc;
use std::time::Duration;

use crate::chaos::keyed_loads::KeyedLoads;
use crate::chaos::scene::{Deployment, ProcessSpec, Scene, Servers, Storage};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::options::{Common, StatementsOptions};
use crate::progress::say;
use crate::statement_relay::{StatementKind, StatementRelay};
use crate::verdict::Verdict;

/// How long everything may take to come to its end after the last fault.
const SETTLE_WITHIN: Duration = Duration::from_secs(90);
/// So many keys are sent once more at the end.
const REPLAYED_KEYS: usize = 200;
/// Of a run with fewer statements it is chance which of them are hit.
const MIN_STATEMENTS_TO_HIT_ALL: u64 = 20_000;

pub async fn run(common: &Common, options: &StatementsOptions) -> Result<Verdict> {
    let seed = options.seed.unwrap_or_else(rand::random);
    let storage = Storage::create(Servers::OneForAll).await?;
    let server = storage.postgres.first();
    let server = server.ok_or_else(|| Failure::new("no server"))?.address();
    let relay = StatementRelay::start(server, options.percent, seed).await?;
    let roles = [
        ProcessSpec::new("serve", "serve-1"),
        ProcessSpec::new("serve", "serve-2"),
        ProcessSpec::new("work", "work-1"),
        ProcessSpec::new("work", "work-2"),
    ];
    let plan = Deployment::of(roles.map(|role| role.behind(relay.address)).into());
    let scene = Scene::with(common, storage, plan).await?;

    say(format!(
        "faults in {} % of statements for {} s, seed {seed}",
        options.percent, options.seconds
    ));
    let keys = Arc::new(KeyedLoads::default());
    let length = Duration::from_secs(options.seconds);
    let faulty = async {
        relay.set_faulty(true);
        tokio::time::sleep(length).await;
        relay.set_faulty(false);
    };
    let loading = traffic::offer(options.rate, tokio::time::sleep(length), |number| {
        let (callers, keys) = (Arc::clone(&scene.callers), Arc::clone(&keys));
        async move { keys.load(&callers, number).await }
    });
    let (offered, ()) = tokio::join!(loading, faulty);
    say(format!("{} faults; settling", relay.counts().faults()));
    let settled = settle::settle(&scene, SETTLE_WITHIN).await?;
    let wrong_replays = keys
        .count_wrong_replays(&scene.callers, REPLAYED_KEYS)
        .await;

    let mut verdict = Verdict::new("chaos statements");
    verdict.note("seed", seed);
    settled.judge(&scene.callers, &mut verdict);
    keys.judge(&scene, offered, &mut verdict).await?;
    verdict
        .note("wrong_replays", wrong_replays)
        .promise("a key sent again names the same cargo", wrong_replays == 0);
    judge_faults(&relay, &mut verdict);
    Ok(verdict)
}

/// Whether the trial did what it is for.
fn judge_faults(relay: &StatementRelay, verdict: &mut Verdict) {
    let counts = relay.counts();
    let is_long = counts.statements() >= MIN_STATEMENTS_TO_HIT_ALL;
    let kinds = [
        StatementKind::Begin,
        StatementKind::Commit,
        StatementKind::Other,
    ];
    let all_hit = kinds.into_iter().all(|kind| counts.hit_with_all(kind));
    verdict
        .note("statements", counts.statements())
        .note("faults", counts.faults())
        .note("by_kind", counts.figures())
        .promise("some statements were hit", counts.faults() > 0)
        .promise(
            "begin, commit and others were hit with every fault",
            all_hit || !is_long,
        );
}
