//! Time from load to callback, separately for cargo that an interrupted process held.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::environment::databases;
use crate::harness::measurement::statistics;
use crate::harness::{Interruption, LoadRecord, Result, TrialEnvironment, TrialVerdict, judge};

const MAX_OTHER_CARGO_SECONDS: f64 = 5.0;
const MAX_HELD_CARGO_SECONDS: f64 = 20.0;
/// Cargo loaded this long after an interruption still counts as affected by it.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(15);

/// Seconds from load to callback.
#[derive(Debug, Default)]
pub struct CallbackLatency {
    /// The interrupted process held the lane, the batch or the delivery, or it took the load.
    held: Vec<f64>,
    others: Vec<f64>,
    /// For the other cargo, from the response instead of the request.
    others_since_answer: Vec<f64>,
    /// The p99 of the other cargo during each interruption.
    by_interruption: Vec<Option<f64>>,
}

impl CallbackLatency {
    pub async fn measure(
        environment: &TrialEnvironment,
        interruptions: &[Interruption],
    ) -> Result<Self> {
        let lanes = read_lanes(&environment.shards).await?;
        let mut latency = Self::default();
        let mut during: Vec<Vec<f64>> = vec![Vec::new(); interruptions.len()];
        let first = interruptions.iter().map(|it| it.began_at).min();
        for (cargo, loaded) in environment.callers.load_log.acknowledged() {
            let Some(receipt) = environment.callers.receipts.find(cargo) else {
                continue;
            };
            if first.is_none_or(|first| receipt.first_at < first) {
                continue;
            }
            let id = Uuid::from_u128(cargo);
            let journey = CargoJourney {
                id,
                lane: lanes.get(&id).copied(),
                loaded,
                received_at: receipt.first_at,
            };
            if interruptions.iter().any(|it| journey.was_held_by(it)) {
                latency
                    .held
                    .push(journey.seconds_since(journey.loaded.ended_at()));
                continue;
            }
            let seconds = journey.seconds_since(journey.loaded.began_at);
            latency.others.push(seconds);
            latency
                .others_since_answer
                .push(journey.seconds_since(journey.loaded.ended_at()));
            for (one, seconds_during) in interruptions.iter().zip(&mut during) {
                if journey.overlaps(one) {
                    seconds_during.push(seconds);
                }
            }
        }
        let p99 = |mut seconds: Vec<f64>| statistics::percentile(&mut seconds, 990);
        latency.by_interruption = during.into_iter().map(p99).collect();
        Ok(latency)
    }

    pub fn judge(&mut self, verdict: &mut TrialVerdict) {
        let rounded = |seconds: &Option<f64>| seconds.map(|it| statistics::round_to(it, 2));
        let by_interruption: Vec<Option<f64>> = self.by_interruption.iter().map(rounded).collect();
        let within = |seconds: &mut [f64], bound: f64| {
            let p99 = statistics::percentile(seconds, 990);
            p99.is_none_or(|p99| p99 <= bound)
        };
        let held = within(&mut self.held, MAX_HELD_CARGO_SECONDS);
        let others = within(&mut self.others, MAX_OTHER_CARGO_SECONDS);
        judge! { verdict;
            record "held" => self.held.len(),
            record "held_seconds" => statistics::summarize(&mut self.held),
            record "others" => self.others.len(),
            record "others_seconds" => statistics::summarize(&mut self.others),
            record "others_seconds_since_answer" =>
                statistics::summarize(&mut self.others_since_answer),
            record "others_p99_by_round" => json!(by_interruption),
            check_figure "load to callback p99 of held cargo is at most 20 s" => held,
            check_figure "load to callback p99 of other cargo is at most 5 s" => others,
        }
    }
}

/// One cargo from load to callback.
struct CargoJourney {
    id: Uuid,
    lane: Option<i32>,
    loaded: LoadRecord,
    received_at: Instant,
}

impl CargoJourney {
    fn seconds_since(&self, moment: Instant) -> f64 {
        self.received_at
            .saturating_duration_since(moment)
            .as_secs_f64()
    }

    fn overlaps(&self, interruption: &Interruption) -> bool {
        let end = interruption.end.map(|(at, _)| at + AFTER_INTERRUPTION);
        self.received_at >= interruption.began_at
            && end.is_none_or(|end| self.loaded.began_at <= end)
    }

    fn was_held_by(&self, interruption: &Interruption) -> bool {
        if self.received_at < interruption.began_at {
            return false;
        }
        let held = &interruption.held;
        let in_lane = self.lane.is_some_and(|lane| held.lanes.contains(&lane))
            && interruption
                .last_lane_held
                .is_some_and(|until| self.loaded.began_at <= until);
        // An interrupted process answers late, or never.
        let taken = interruption.client.is_some()
            && self.loaded.source.client == interruption.client
            && self.loaded.ended_at() >= interruption.began_at
            && interruption
                .end
                .is_none_or(|(end, _)| self.loaded.began_at <= end);
        in_lane || taken || held.cargo.contains(&self.id) || held.deliveries.contains(&self.id)
    }
}

async fn read_lanes(shards: &[(String, PgPool)]) -> Result<HashMap<Uuid, i32>> {
    let query = "select id, lane from shard.cargo";
    let lanes: Vec<(Uuid, i32)> = databases::fetch_rows(shards, query).await?;
    Ok(lanes.into_iter().collect())
}

pub async fn count_lanes(shards: &[(String, PgPool)]) -> Result<usize> {
    let lanes = read_lanes(shards).await?;
    Ok(lanes.values().collect::<HashSet<_>>().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::checks::interruption::{HeldClaims, InterruptionEnd, Interruptions};
    use crate::harness::load::load_log::LoadSource;

    #[test]
    fn cargo_of_a_held_lane_is_apart_while_the_lane_is_held() {
        let all = Interruptions::default();
        all.begin(7, Some(0));
        let held = HeldClaims {
            lanes: HashSet::from([3]),
            ..HeldClaims::default()
        };
        all.record_held(7, held);
        all.end(InterruptionEnd::Continued);
        let one = all.all().remove(0);
        let journey = |lane, target, sent: Instant| CargoJourney {
            id: Uuid::from_u128(1),
            lane: Some(lane),
            loaded: LoadRecord {
                source: LoadSource {
                    client: Some(target),
                    ..LoadSource::default()
                },
                began_at: sent,
                duration: Duration::ZERO,
                answer: "202".to_owned(),
                cargo: Some(1),
            },
            received_at: sent + Duration::from_secs(1),
        };
        let later = one.began_at + Duration::from_mins(1);
        assert!(journey(3, 1, one.began_at).was_held_by(&one));
        assert!(!journey(4, 1, one.began_at).was_held_by(&one));
        assert!(journey(4, 0, one.began_at).was_held_by(&one));
        assert!(!journey(3, 0, later).was_held_by(&one));
        assert!(!journey(3, 1, later).overlaps(&one));
    }
}
