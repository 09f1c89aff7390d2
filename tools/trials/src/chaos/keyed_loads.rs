//! Loads with an idempotency key, repeated until the service gives a definite answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::chaos::scene::{Callers, Scene};
use crate::chaos::traffic;
use crate::failure::{During as _, Result};
use crate::figures;
use crate::http::Answer;
use crate::ledger;
use crate::verdict::Verdict;

/// A caller gives up after this, which is counted against the service.
const REPEAT_FOR: Duration = Duration::from_mins(5);
const PAUSE_BETWEEN_REPEATS: Duration = Duration::from_millis(20);

/// What each idempotency key was answered.
#[derive(Debug, Default)]
pub struct KeyedLoads {
    answers: Mutex<BTreeMap<u64, BTreeSet<u128>>>,
    /// Milliseconds from the first try to the definite answer.
    milliseconds: Mutex<Vec<f64>>,
    repeats: AtomicU64,
    replays: AtomicU64,
    unanswered: AtomicU64,
    /// A load that is right was refused as wrong.
    refused: AtomicU64,
}

/// What the shards hold.
#[derive(Debug, Default, Clone, Copy)]
struct StoredKeys {
    cargo: i64,
    keys: i64,
    /// Keys whose cargo is missing, or is that of another key too.
    keys_without_own_cargo: i64,
}

impl KeyedLoads {
    /// The same body under the same key, to any process, until there is a definite answer.
    pub async fn load(&self, callers: &Callers, number: u64) {
        let begun = Instant::now();
        while begun.elapsed() < REPEAT_FOR {
            let Some(answer) = send(callers, number).await else {
                return;
            };
            let reason = match answer {
                Ok(answer) if answer.is_success() => {
                    self.accept(callers, number, &answer);
                    open(&self.milliseconds).push(figures::milliseconds(begun.elapsed()));
                    return;
                }
                Ok(answer) if matches!(answer.status, 400..=499) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    callers.ledger.fail(answer.status.to_string());
                    return;
                }
                Ok(answer) => answer.status.to_string(),
                Err(error) => ledger::reason(&error),
            };
            callers.ledger.fail(reason);
            self.repeats.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PAUSE_BETWEEN_REPEATS).await;
        }
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    fn accept(&self, callers: &Callers, number: u64, answer: &Answer) {
        if answer.is_replay {
            self.replays.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(cargo) = answer.cargo() {
            let place = traffic::organization(callers, number);
            callers.ledger.acknowledge(cargo, place);
            open(&self.answers).entry(number).or_default().insert(cargo);
        }
    }

    /// Sends some of the keys once more: each must be answered with the cargo that it has.
    /// Says how many were not.
    pub async fn count_wrong_replays(&self, callers: &Callers, sample: usize) -> usize {
        let answers = open(&self.answers).clone();
        let step = (answers.len() / sample.max(1)).max(1);
        let mut wrong = 0;
        for (number, cargo) in answers.iter().step_by(step) {
            let answer = send(callers, *number).await;
            let is_same = answer.is_some_and(|answer| {
                answer.is_ok_and(|answer| {
                    let same = answer.cargo().is_some_and(|found| cargo.contains(&found));
                    answer.is_replay && same
                })
            });
            wrong += usize::from(!is_same);
        }
        wrong
    }

    /// The promises of an idempotency key; `offered` loads had one each.
    pub async fn judge(&self, scene: &Scene, offered: u64, verdict: &mut Verdict) -> Result<()> {
        let stored = stored(scene).await?;
        let answers = open(&self.answers).clone();
        let double = answers.values().filter(|cargo| cargo.len() > 1).count();
        let [unanswered, refused, repeats, replays] = [
            &self.unanswered,
            &self.refused,
            &self.repeats,
            &self.replays,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        let is_offered = |count| i64::try_from(offered) == Ok(count);
        let mut milliseconds = open(&self.milliseconds).clone();
        verdict
            .note("keys", offered)
            .note("stored", stored.cargo)
            .note("keys_with_several_cargo", double)
            .note("unanswered", unanswered)
            .note("repeats", repeats)
            .note("replays", replays)
            .note(
                "load_milliseconds_with_repeats",
                figures::spread(&mut milliseconds),
            )
            .promise("every key is answered", unanswered == 0)
            .promise("no load is refused as wrong", refused == 0)
            .promise("one cargo per key in the answers", double == 0)
            .promise("one cargo per key in the rows", is_offered(stored.cargo))
            .promise(
                "every key in the rows has a cargo of its own",
                is_offered(stored.keys) && stored.keys_without_own_cargo == 0,
            );
        Ok(())
    }
}

/// One try, to any process. Nothing where there is no one to send as or to.
async fn send(callers: &Callers, number: u64) -> Option<std::io::Result<Answer>> {
    let organization = callers
        .organizations
        .get(traffic::organization(callers, number))?;
    let mut request = String::new();
    callers
        .loads
        .write_keyed(&mut request, organization, number);
    let place = rand::random_range(0..callers.targets.len().max(1));
    let target = callers.targets.get(place)?;
    Some(target.send(request.as_bytes()).await)
}

async fn stored(scene: &Scene) -> Result<StoredKeys> {
    let query = "select (select count(*) from shard.cargo),
            count(*),
            count(*) - count(distinct cargo.id)
        from shard.idempotency left join shard.cargo on cargo.id = idempotency.cargo";
    let mut stored = StoredKeys::default();
    for (_, pool) in &scene.shards {
        let row = sqlx::query_as::<_, (i64, i64, i64)>(query).fetch_one(pool);
        let (cargo, keys, without) = row.await.during("counting cargo and keys")?;
        stored.cargo += cargo;
        stored.keys += keys;
        stored.keys_without_own_cargo += without;
    }
    Ok(stored)
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
