//! Database connections are cut while every load is repeated until it is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::chaos::cutter::{self, Cuts};
use crate::chaos::scene::{Callers, Scene, Servers};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::failure::{During as _, Failure, Result};
use crate::ledger;
use crate::options::{ChaosOptions, Common};
use crate::progress::say;
use crate::verdict::Verdict;

const SETTLING: Duration = Duration::from_secs(90);
/// A caller gives up after this, which is counted against us.
const REPEATING: Duration = Duration::from_mins(1);
const BETWEEN_REPEATS: Duration = Duration::from_millis(20);

/// What each idempotency key was answered.
#[derive(Debug, Default)]
struct Keys {
    answers: Mutex<BTreeMap<u64, BTreeSet<u128>>>,
    repeats: AtomicU64,
    replays: AtomicU64,
    unanswered: AtomicU64,
}

pub async fn run(common: &Common, options: &ChaosOptions) -> Result<Verdict> {
    let scene = Scene::build(common, Servers::OneForAll).await?;
    let keys = Arc::new(Keys::default());
    let length = Duration::from_secs(options.seconds);
    let server = scene
        .postgres
        .first()
        .ok_or_else(|| Failure::new("no server"))?;
    let server = server.pool("postgres");
    say(format!("cutting connections for {} s", options.seconds));
    let loading = traffic::offer(options.rate, tokio::time::sleep(length), |number| {
        let (callers, keys) = (Arc::clone(&scene.callers), Arc::clone(&keys));
        async move { repeat_until_answered(&callers, &keys, number).await }
    });
    let (offered, cuts) = tokio::join!(loading, cutter::cut(&server, length));
    let cuts = cuts?;
    say(format!(
        "{} cut, {} in mid-transaction; settling",
        cuts.all, cuts.in_transaction
    ));
    let settled = settle::settle(&scene, SETTLING).await?;
    let stored = stored(&scene).await?;

    let mut verdict = Verdict::new("chaos connections");
    settled.judge(&scene.callers, &mut verdict);
    judge(&mut verdict, &keys, offered, stored, cuts);
    Ok(verdict)
}

fn judge(verdict: &mut Verdict, keys: &Keys, offered: u64, stored: i64, cuts: Cuts) {
    let answers = keys.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let double = answers.values().filter(|cargo| cargo.len() > 1).count();
    let unanswered = keys.unanswered.load(Ordering::Relaxed);
    verdict
        .note("keys", offered)
        .note("stored", stored)
        .note("keys_with_several_cargo", double)
        .note("unanswered", unanswered)
        .note("repeats", keys.repeats.load(Ordering::Relaxed))
        .note("replays", keys.replays.load(Ordering::Relaxed))
        .note("cut", cuts.all)
        .note("cut_in_transaction", cuts.in_transaction)
        .promise("every key is answered", unanswered == 0)
        .promise("one cargo per key in the answers", double == 0)
        .promise(
            "one cargo per key in the rows",
            i64::try_from(offered) == Ok(stored),
        )
        .promise(
            "something was cut in mid-transaction",
            cuts.in_transaction > 0,
        );
}

/// The same body under the same key, to either process, until it is accepted.
async fn repeat_until_answered(callers: &Callers, keys: &Keys, number: u64) {
    let which = traffic::organization(callers, number);
    let Some(organization) = callers.organizations.get(which) else {
        return;
    };
    let mut request = String::new();
    callers
        .loads
        .write_keyed(&mut request, organization, number);
    let begun = Instant::now();
    while begun.elapsed() < REPEATING {
        let place = rand::random_range(0..callers.targets.len());
        let Some(target) = callers.targets.get(place) else {
            return;
        };
        let reason = match target.send(request.as_bytes()).await {
            Ok(answer) if answer.is_success() => {
                if answer.is_replay {
                    keys.replays.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(cargo) = answer.cargo() {
                    callers.ledger.acknowledge(cargo, which);
                    let mut answers = keys.answers.lock().unwrap_or_else(PoisonError::into_inner);
                    answers.entry(number).or_default().insert(cargo);
                }
                return;
            }
            Ok(answer) => answer.status.to_string(),
            Err(error) => ledger::reason(&error),
        };
        callers.ledger.fail(reason);
        keys.repeats.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(BETWEEN_REPEATS).await;
    }
    keys.unanswered.fetch_add(1, Ordering::Relaxed);
}

async fn stored(scene: &Scene) -> Result<i64> {
    let mut stored = 0;
    for (_, pool) in &scene.shards {
        let query = "select count(*) from shard.cargo";
        let here: i64 = sqlx::query_scalar(query)
            .fetch_one(pool)
            .await
            .during("counting cargo")?;
        stored += here;
    }
    Ok(stored)
}
