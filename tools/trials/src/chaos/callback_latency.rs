//! From load to callback, apart for cargo that an interrupted process held and for all other.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::interruption::Interruption;
use crate::chaos::scene::Scene;
use crate::failure::{During as _, Result};
use crate::figures;
use crate::ledger::Loaded;
use crate::verdict::Verdict;

const MAX_SECONDS_OF_OTHERS: f64 = 5.0;
const MAX_SECONDS_OF_HELD: f64 = 20.0;
/// What happened this long after an interruption is still counted with it.
const COUNTED_AFTERWARDS: Duration = Duration::from_secs(15);

/// Seconds from load to callback.
#[derive(Debug, Default)]
pub struct CallbackLatency {
    /// The interrupted process held the lane, the batch or the delivery, or took the load.
    held: Vec<f64>,
    others: Vec<f64>,
    /// Of the others, from the answer on instead of the request.
    others_since_answer: Vec<f64>,
    /// The p99 of the others during each interruption.
    by_interruption: Vec<Option<f64>>,
}

impl CallbackLatency {
    pub async fn measure(scene: &Scene, interruptions: &[Interruption]) -> Result<Self> {
        let lanes = lanes(&scene.shards).await?;
        let mut latency = Self::default();
        let mut during: Vec<Vec<f64>> = vec![Vec::new(); interruptions.len()];
        let first = interruptions.iter().map(|it| it.began).min();
        for (cargo, loaded) in scene.callers.ledger.loaded() {
            let Some(receipt) = scene.callers.receipts.find(cargo) else {
                continue;
            };
            if first.is_none_or(|first| receipt.first < first) {
                continue;
            }
            let id = Uuid::from_u128(cargo);
            let journey = Journey {
                id,
                lane: lanes.get(&id).copied(),
                loaded,
                received: receipt.first,
            };
            if interruptions.iter().any(|it| journey.was_held_by(it)) {
                latency.held.push(journey.seconds_since(loaded.at));
                continue;
            }
            let seconds = journey.seconds_since(loaded.sent);
            latency.others.push(seconds);
            latency
                .others_since_answer
                .push(journey.seconds_since(loaded.at));
            for (one, seconds_during) in interruptions.iter().zip(&mut during) {
                if journey.overlaps(one) {
                    seconds_during.push(seconds);
                }
            }
        }
        let p99 = |mut seconds: Vec<f64>| figures::percentile(&mut seconds, 990);
        latency.by_interruption = during.into_iter().map(p99).collect();
        Ok(latency)
    }

    pub fn judge(&mut self, verdict: &mut Verdict) {
        let rounded = |seconds: &Option<f64>| seconds.map(|it| figures::rounded(it, 2));
        let by_interruption: Vec<Option<f64>> = self.by_interruption.iter().map(rounded).collect();
        let within = |seconds: &mut [f64], bound: f64| {
            let p99 = figures::percentile(seconds, 990);
            p99.is_none_or(|p99| p99 <= bound)
        };
        let held = within(&mut self.held, MAX_SECONDS_OF_HELD);
        let others = within(&mut self.others, MAX_SECONDS_OF_OTHERS);
        verdict
            .note("held", self.held.len())
            .note("held_seconds", figures::spread(&mut self.held))
            .note("others", self.others.len())
            .note("others_seconds", figures::spread(&mut self.others))
            .note(
                "others_seconds_since_answer",
                figures::spread(&mut self.others_since_answer),
            )
            .note("others_p99_by_round", json!(by_interruption))
            .promise("load to callback p99 of held cargo is at most 20 s", held)
            .promise("load to callback p99 of other cargo is at most 5 s", others);
    }
}

/// One cargo from load to callback.
struct Journey {
    id: Uuid,
    lane: Option<i32>,
    loaded: Loaded,
    received: Instant,
}

impl Journey {
    fn seconds_since(&self, moment: Instant) -> f64 {
        self.received
            .saturating_duration_since(moment)
            .as_secs_f64()
    }

    fn overlaps(&self, interruption: &Interruption) -> bool {
        let end = interruption.end.map(|(at, _)| at + COUNTED_AFTERWARDS);
        self.received >= interruption.began && end.is_none_or(|end| self.loaded.sent <= end)
    }

    fn was_held_by(&self, interruption: &Interruption) -> bool {
        if self.received < interruption.began {
            return false;
        }
        let held = &interruption.held;
        let in_lane = self.lane.is_some_and(|lane| held.lanes.contains(&lane))
            && interruption
                .lanes_until()
                .is_some_and(|until| self.loaded.sent <= until);
        // A process that cannot work answers late, or never.
        let taken = interruption.target.is_some()
            && self.loaded.target == interruption.target
            && self.loaded.at >= interruption.began
            && interruption
                .end
                .is_none_or(|(end, _)| self.loaded.sent <= end);
        in_lane || taken || held.cargo.contains(&self.id) || held.deliveries.contains(&self.id)
    }
}

/// The lane of every cargo.
async fn lanes(shards: &[(String, PgPool)]) -> Result<HashMap<Uuid, i32>> {
    let mut lanes = HashMap::new();
    for (_, pool) in shards {
        let asked = sqlx::query_as::<_, (Uuid, i32)>("select id, lane from shard.cargo");
        lanes.extend(asked.fetch_all(pool).await.during("reading lanes")?);
    }
    Ok(lanes)
}

/// How many lanes there are.
pub async fn count_lanes(shards: &[(String, PgPool)]) -> Result<usize> {
    let lanes = lanes(shards).await?;
    Ok(lanes.values().collect::<HashSet<_>>().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::interruption::{End, Held, Interruptions};

    #[test]
    fn cargo_of_a_held_lane_is_apart_while_the_lane_is_held() {
        let all = Interruptions::default();
        all.begin(7, Some(0));
        let held = Held {
            lanes: HashSet::from([3]),
            ..Held::default()
        };
        all.note_held(7, held);
        all.end(End::Continued);
        let one = all.all().remove(0);
        let journey = |lane, target, sent: Instant| Journey {
            id: Uuid::from_u128(1),
            lane: Some(lane),
            loaded: Loaded {
                at: sent,
                sent,
                target: Some(target),
                organization: 0,
            },
            received: sent + Duration::from_secs(1),
        };
        let later = one.began + Duration::from_mins(1);
        assert!(journey(3, 1, one.began).was_held_by(&one));
        assert!(!journey(4, 1, one.began).was_held_by(&one));
        assert!(journey(4, 0, one.began).was_held_by(&one));
        assert!(!journey(3, 0, later).was_held_by(&one));
        assert!(!journey(3, 1, later).overlaps(&one));
    }
}
