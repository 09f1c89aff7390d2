//! The promises that freeze and partition share, checked after the last interruption.

use std::time::Duration;

use serde_json::json;

use crate::chaos::callback_latency::{self, CallbackLatency};
use crate::harness::checks::claim_watch;
use crate::harness::checks::completion;
use crate::harness::measurement::statistics;
use crate::harness::{
    CompletionReport, Interruption, InterruptionEnd, LostLeases, OfferedRate, Result,
    TrialEnvironment, TrialVerdict, judge, report_progress,
};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
const MAX_TAKEOVER_TIME: Duration = Duration::from_secs(15);
const MIN_LANES: usize = 12;

/// Everything that must be read before the processes end.
#[derive(Debug)]
pub struct InterruptionFindings {
    completion: CompletionReport,
    latency: CallbackLatency,
    orphans: Vec<String>,
    lanes: usize,
    interruptions: Vec<Interruption>,
    lost_leases: Vec<String>,
}

impl InterruptionFindings {
    pub async fn read(
        environment: &TrialEnvironment,
        interruptions: Vec<Interruption>,
        leases: &LostLeases,
    ) -> Result<Self> {
        report_progress(format!(
            "{} interruptions; waiting for completion",
            interruptions.len()
        ));
        let settled = completion::wait_for_completion(environment, SETTLE_TIMEOUT).await?;
        Ok(Self {
            completion: settled,
            latency: CallbackLatency::measure(environment, &interruptions).await?,
            orphans: claim_watch::wait_for_no_orphans(&environment.shards).await?,
            lanes: callback_latency::count_lanes(&environment.shards).await?,
            lost_leases: leases.lost(),
            interruptions,
        })
    }

    pub fn judge(
        &mut self,
        environment: &TrialEnvironment,
        offered: OfferedRate,
        rate: u32,
        verdict: &mut TrialVerdict,
    ) {
        self.completion.judge(&environment.callers, verdict);
        self.latency.judge(verdict);
        let take_ups: Vec<Duration> = self
            .interruptions
            .iter()
            .filter_map(Interruption::takeover_time)
            .collect();
        let mut seconds: Vec<f64> = take_ups.iter().map(Duration::as_secs_f64).collect();
        let killed = self.interruptions.iter();
        let killed = killed.filter(|it| matches!(it.end, Some((_, InterruptionEnd::Killed))));
        let in_flight: usize = self
            .interruptions
            .iter()
            .map(|it| it.held.deliveries.len())
            .sum();
        let duplicates = environment.callers.receipts.count_duplicates();
        let enough = f64::from(rate) * 0.99;
        judge! { verdict;
            record "offered_per_second" => statistics::round_to(offered.per_second, 1),
            record "lanes" => self.lanes,
            record "rounds" => self.interruptions.len(),
            record "killed" => killed.count(),
            record "rounds_with_claims" => take_ups.len(),
            record "takeover_seconds" => statistics::summarize(&mut seconds),
            record "lost_leases" => json!(self.lost_leases),
            record "orphaned_claims" => json!(self.orphans),
            record "deliveries_in_flight" => in_flight,
            check_figure "loads are offered at the rate" => offered.per_second >= enough,
            check "at least 12 lanes" => self.lanes >= MIN_LANES,
            check "a process that held claims was interrupted" => !take_ups.is_empty(),
            check_figure "its claims are taken over within 15 s" =>
                take_ups.iter().all(|it| *it <= MAX_TAKEOVER_TIME),
            // A process that the machine stops for seconds loses its lease, too.
            check_figure "no other process loses its lease" => self.lost_leases.is_empty(),
            check "no claim names a node and epoch that is not alive" => self.orphans.is_empty(),
            // The callbacks in flight of such a process are sent again, too.
            check "duplicate callbacks are at most those in flight" => !self.lost_leases.is_empty()
                || duplicates <= u64::try_from(in_flight).unwrap_or(u64::MAX),
        }
    }
}
