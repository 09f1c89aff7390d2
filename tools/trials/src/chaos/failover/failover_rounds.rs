//! The rounds: one server is primary, something happens to it, another one takes over.

use std::time::{Duration, Instant};

use crate::harness::load::load_log::LoadRecord;
use crate::harness::{
    ChaosCallers, LoadLog, PatroniCluster, PollLimits, Result, TrialFailure, report_progress,
};
use crate::options::{ChaosFailoverOptions, PrimaryFault};

/// Loads run before each fault and after each recovery.
const WARM_UP: Duration = Duration::from_secs(4);
/// Loads must be accepted by the new primary in this time, or the round fails.
const ACCEPTED_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(50));
/// How long the old primary stays away after the new one works.
const AWAY_MILLISECONDS: std::ops::Range<u64> = 1_000..5_000;
/// With asynchronous standbys, they lag for so long before the primary is killed.
const LAG: Duration = Duration::from_millis(500);

/// What was measured in one round.
#[derive(Debug)]
pub struct FailoverRound {
    pub fault: PrimaryFault,
    began_at: Instant,
    ended_at: Instant,
    pub seconds_to_primary: f64,
    /// From the end of the fault until both standbys follow again.
    pub seconds_to_whole_cluster: f64,
}

impl FailoverRound {
    /// The longest time without an accepted load, from the fault to the end of the round.
    pub fn seconds_without_accepted(&self, loads: &LoadLog) -> f64 {
        let in_round = self.began_at..self.ended_at;
        let accepted = loads.select(|it| it.is_accepted() && in_round.contains(&it.ended_at()));
        let mut times: Vec<Instant> = accepted.iter().map(LoadRecord::ended_at).collect();
        times.sort();
        longest_gap(self.began_at, &times, self.ended_at).as_secs_f64()
    }
}

fn longest_gap(from: Instant, times: &[Instant], to: Instant) -> Duration {
    let (mut last, mut longest) = (from, Duration::ZERO);
    for time in times.iter().chain([&to]) {
        longest = longest.max(time.duration_since(last));
        last = *time;
    }
    longest
}

#[derive(Debug)]
pub struct FailoverRounds<'a> {
    pub cluster: &'a mut PatroniCluster,
    pub callers: &'a ChaosCallers,
    pub options: &'a ChaosFailoverOptions,
}

impl FailoverRounds<'_> {
    pub async fn run(mut self) -> Result<Vec<FailoverRound>> {
        let mut rounds = Vec::new();
        for fault in self.options.faults_in_turn() {
            tokio::time::sleep(WARM_UP).await;
            rounds.push(self.round(fault).await?);
        }
        tokio::time::sleep(WARM_UP).await;
        Ok(rounds)
    }

    async fn round(&mut self, fault: PrimaryFault) -> Result<FailoverRound> {
        let is_synchronous = !self.options.asynchronous;
        let primary = self.cluster.wait_until_healthy(is_synchronous).await?;
        if !is_synchronous {
            self.cluster.server(primary)?.stop_replication()?;
            tokio::time::sleep(LAG).await;
        }
        let name = self.cluster.server(primary)?.name().to_owned();
        report_progress(format!("{}: the primary {name}", fault.name()));
        let began_at = Instant::now();
        self.begin(fault, primary)?;
        let next = self.cluster.wait_for_other_primary(primary).await?;
        let seconds_to_primary = began_at.elapsed().as_secs_f64();
        let next = self.cluster.server(next)?.name().to_owned();
        self.wait_for_accepted_load().await?;
        let seconds = began_at.elapsed().as_secs_f64();
        report_progress(format!(
            "{next} is the primary after {seconds_to_primary:.1} s; \
             loads are accepted after {seconds:.1} s"
        ));
        let away = rand::random_range(AWAY_MILLISECONDS);
        tokio::time::sleep(Duration::from_millis(away)).await;
        let over = Instant::now();
        self.end(fault, primary)?;
        self.cluster.wait_until_healthy(is_synchronous).await?;
        Ok(FailoverRound {
            fault,
            began_at,
            ended_at: Instant::now(),
            seconds_to_primary,
            seconds_to_whole_cluster: over.elapsed().as_secs_f64(),
        })
    }

    fn begin(&mut self, fault: PrimaryFault, primary: usize) -> Result<()> {
        match fault {
            PrimaryFault::Kill => self.cluster.server_mut(primary)?.kill(),
            PrimaryFault::Freeze => self.cluster.server(primary)?.freeze(),
            PrimaryFault::CutOff => self.cluster.cut_off(primary),
        }
    }

    fn end(&mut self, fault: PrimaryFault, primary: usize) -> Result<()> {
        match fault {
            PrimaryFault::Kill => self.cluster.server_mut(primary)?.start(),
            PrimaryFault::Freeze => self.cluster.server(primary)?.resume(),
            PrimaryFault::CutOff => self.cluster.restore(primary),
        }
    }

    async fn wait_for_accepted_load(&self) -> Result<()> {
        let since = Instant::now();
        let is_new = |began: Instant| began >= since;
        let accepted = || {
            let loads = &self.callers.load_log;
            loads
                .newest_acknowledged()
                .is_some_and(|it| is_new(it.began_at))
        };
        if ACCEPTED_LIMITS.wait_until(accepted).await {
            return Ok(());
        }
        Err(TrialFailure::new("no load is accepted after a failover"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_may_be_the_first_or_the_last() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let gap = |times: &[Instant], to| longest_gap(start, times, to).as_secs();
        assert_eq!(gap(&[at(5), at(6), at(8)], at(9)), 5);
        assert_eq!(gap(&[at(1), at(2)], at(9)), 7);
        assert_eq!(gap(&[], at(9)), 9);
    }
}
