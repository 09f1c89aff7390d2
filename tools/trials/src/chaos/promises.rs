//! What freeze and partition promise alike, counted after the last interruption.

use std::time::Duration;

use serde_json::json;

use crate::chaos::callback_latency::{self, CallbackLatency};
use crate::chaos::claims::{self, Leases};
use crate::chaos::interruption::{End, Interruption};
use crate::chaos::scene::Scene;
use crate::chaos::settle::{self, Settled};
use crate::chaos::traffic::Offered;
use crate::failure::Result;
use crate::figures;
use crate::progress::say;
use crate::verdict::Verdict;

const MAX_SETTLING: Duration = Duration::from_secs(90);
const MAX_TAKE_UP: Duration = Duration::from_secs(15);
const MIN_LANES: usize = 12;

/// Everything that is read before processes end.
#[derive(Debug)]
pub struct Findings {
    settled: Settled,
    latency: CallbackLatency,
    orphans: Vec<String>,
    lanes: usize,
    interruptions: Vec<Interruption>,
    lost_leases: Vec<String>,
}

impl Findings {
    pub async fn gather(
        scene: &Scene,
        interruptions: Vec<Interruption>,
        leases: &Leases,
    ) -> Result<Self> {
        say(format!("{} interruptions; settling", interruptions.len()));
        let settled = settle::settle(scene, MAX_SETTLING).await?;
        Ok(Self {
            settled,
            latency: CallbackLatency::measure(scene, &interruptions).await?,
            orphans: claims::orphans(&scene.shards).await?,
            lanes: callback_latency::count_lanes(&scene.shards).await?,
            lost_leases: leases.lost(),
            interruptions,
        })
    }

    pub fn judge(&mut self, scene: &Scene, offered: Offered, rate: u32, verdict: &mut Verdict) {
        self.settled.judge(&scene.callers, verdict);
        self.latency.judge(verdict);
        let take_ups: Vec<Duration> = self
            .interruptions
            .iter()
            .filter_map(Interruption::take_up)
            .collect();
        let mut seconds: Vec<f64> = take_ups.iter().map(Duration::as_secs_f64).collect();
        let killed = self.interruptions.iter();
        let killed = killed.filter(|it| matches!(it.end, Some((_, End::Killed))));
        let in_flight: usize = self
            .interruptions
            .iter()
            .map(|it| it.held.deliveries.len())
            .sum();
        let duplicates = scene.callers.receipts.duplicates();
        let enough = f64::from(rate) * 0.99;
        verdict
            .note(
                "offered_per_second",
                figures::rounded(offered.per_second, 1),
            )
            .note("lanes", self.lanes)
            .note("rounds", self.interruptions.len())
            .note("killed", killed.count())
            .note("rounds_with_claims", take_ups.len())
            .note("take_up_seconds", figures::spread(&mut seconds))
            .note("lost_leases", json!(self.lost_leases))
            .note("orphaned_claims", json!(self.orphans))
            .note("deliveries_in_flight", in_flight)
            .promise(
                "loads are offered at the rate",
                offered.per_second >= enough,
            )
            .promise("at least 12 lanes", self.lanes >= MIN_LANES)
            .promise(
                "a process that held claims was interrupted",
                !take_ups.is_empty(),
            )
            .promise(
                "what it held is taken up within 15 s",
                take_ups.iter().all(|it| *it <= MAX_TAKE_UP),
            )
            .promise(
                "no other process loses its lease",
                self.lost_leases.is_empty(),
            )
            .promise(
                "no claim names a node and epoch that is not alive",
                self.orphans.is_empty(),
            )
            .promise(
                "duplicates are at most what was in flight",
                duplicates <= u64::try_from(in_flight).unwrap_or(u64::MAX),
            );
    }
}
