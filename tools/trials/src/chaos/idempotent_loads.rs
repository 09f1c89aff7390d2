//! Loads with an idempotency key, retried until the service gives a definite answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::harness::environment::databases;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    ChaosCallers, HttpRequest, HttpResponse, LoadRecord, LoadSource, Result, ServiceClient,
    TrialEnvironment, TrialVerdict, judge,
};

/// A caller gives up after this; it counts as a broken promise.
const GIVE_UP_AFTER: Duration = Duration::from_mins(5);
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// The cargo that each idempotency key got.
#[derive(Debug, Default)]
pub struct IdempotentLoads {
    cargo_by_key: Mutex<BTreeMap<u64, BTreeSet<u128>>>,
    /// Milliseconds from the first attempt to the definite answer.
    milliseconds: Mutex<Vec<f64>>,
    repeats: AtomicU64,
    replays: AtomicU64,
    unanswered: AtomicU64,
    /// Valid loads that the service refused as invalid.
    refused: AtomicU64,
}

/// Sums over all shards.
#[derive(Debug, Default, Clone, Copy)]
struct StoredKeys {
    cargo: i64,
    keys: i64,
    /// Keys without cargo, or with the cargo of another key.
    keys_without_own_cargo: i64,
}

impl IdempotentLoads {
    /// Sends the same body under the same key, to any process, until there is a definite
    /// answer.
    pub async fn load(&self, callers: &ChaosCallers, number: u64) {
        let begun = Instant::now();
        while begun.elapsed() < GIVE_UP_AFTER {
            let began_at = Instant::now();
            let Some(sent) = send_once(callers, number).await else {
                return;
            };
            let source =
                LoadSource::of_organization(open_loop::organization_index(callers, number));
            let record = LoadRecord::new(source, began_at, sent.as_ref());
            callers.load_log.record(record);
            match sent {
                Ok(answer) if answer.is_success() => {
                    self.record_accepted(number, &answer);
                    self.milliseconds
                        .lock()
                        .push(statistics::to_milliseconds(begun.elapsed()));
                    return;
                }
                Ok(answer) if matches!(answer.status, 400..=499) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Ok(_) | Err(_) => {}
            }
            self.repeats.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(RETRY_DELAY).await;
        }
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    fn record_accepted(&self, number: u64, answer: &HttpResponse) {
        if answer.is_replay() {
            self.replays.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(cargo) = answer.cargo_id() {
            self.cargo_by_key
                .lock()
                .entry(number)
                .or_default()
                .insert(cargo);
        }
    }

    /// Sends some of the keys again. Each must return the cargo that it has. Returns how many
    /// did not.
    pub async fn count_wrong_replays(&self, callers: &ChaosCallers, sample: usize) -> usize {
        let answers = self.cargo_by_key.lock().clone();
        let step = (answers.len() / sample.max(1)).max(1);
        let mut wrong = 0;
        for (number, cargo) in answers.iter().step_by(step) {
            let answer = send_repeatedly(callers, *number).await;
            let is_same = answer.is_some_and(|answer| {
                answer.is_ok_and(|answer| {
                    let same = answer
                        .cargo_id()
                        .is_some_and(|found| cargo.contains(&found));
                    answer.is_replay() && same
                })
            });
            wrong += usize::from(!is_same);
        }
        wrong
    }

    /// The longest time from the first attempt to the definite answer.
    pub fn slowest_seconds(&self) -> f64 {
        let milliseconds = self.milliseconds.lock();
        milliseconds.iter().copied().fold(0.0, f64::max) / 1000.0
    }

    /// Checks the promises of idempotency keys; `offered` is the number of keys.
    pub async fn judge(
        &self,
        environment: &TrialEnvironment,
        offered: u64,
        verdict: &mut TrialVerdict,
    ) -> Result<()> {
        let stored = count_stored_keys(environment).await?;
        let answers = self.cargo_by_key.lock().clone();
        let double = answers.values().filter(|cargo| cargo.len() > 1).count();
        let [unanswered, refused, repeats, replays] = [
            &self.unanswered,
            &self.refused,
            &self.repeats,
            &self.replays,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        let is_offered = |count| i64::try_from(offered) == Ok(count);
        let mut milliseconds = self.milliseconds.lock().clone();
        judge! { verdict;
            record "keys" => offered,
            record "stored" => stored.cargo,
            record "keys_with_several_cargo" => double,
            record "unanswered" => unanswered,
            record "repeats" => repeats,
            record "replays" => replays,
            record "load_milliseconds_with_repeats" => statistics::summarize(&mut milliseconds),
            check "every key is answered" => unanswered == 0,
            check "no valid load is refused as invalid" => refused == 0,
            check "one cargo per key in the responses" => double == 0,
            check "one cargo per key in the rows" => is_offered(stored.cargo),
            check "every key in the rows has its own cargo" =>
                is_offered(stored.keys) && stored.keys_without_own_cargo == 0,
        }
        Ok(())
    }
}

/// One attempt, to any process. None if there is no organization or no process.
async fn send_once(callers: &ChaosCallers, number: u64) -> Option<std::io::Result<HttpResponse>> {
    let (client, request) = build_load(callers, number)?;
    Some(client.send(request).await)
}

/// The same after the faults: a slow service may answer 503.
async fn send_repeatedly(
    callers: &ChaosCallers,
    number: u64,
) -> Option<std::io::Result<HttpResponse>> {
    let (client, request) = build_load(callers, number)?;
    Some(client.send_repeatedly(request).await)
}

fn build_load(callers: &ChaosCallers, number: u64) -> Option<(&ServiceClient, HttpRequest)> {
    let organization = callers
        .organizations
        .get(open_loop::organization_index(callers, number))?;
    let place = rand::random_range(0..callers.clients.len().max(1));
    let request = callers.requests.build_keyed(organization, number);
    Some((callers.clients.get(place)?, request))
}

async fn count_stored_keys(environment: &TrialEnvironment) -> Result<StoredKeys> {
    let query = "select (select count(*) from shard.cargo),
            count(*),
            count(*) - count(distinct cargo.id)
        from shard.idempotency left join shard.cargo on cargo.id = idempotency.cargo";
    let mut stored = StoredKeys::default();
    let rows: Vec<(i64, i64, i64)> = databases::fetch_rows(&environment.shards, query).await?;
    for (cargo, keys, without) in rows {
        stored.cargo += cargo;
        stored.keys += keys;
        stored.keys_without_own_cargo += without;
    }
    Ok(stored)
}
