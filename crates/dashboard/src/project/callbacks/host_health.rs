//! Health of callback hosts: sums of attempts, latencies, and a chart by hour.

use std::collections::{BTreeMap, HashMap};

use chrono::TimeDelta;
use domain::callback_health::{CallbackAttemptResult, LatencyHistogram};
use domain::time::Timestamp;
use store::view::callbacks::{DueCallbacks, HostAttempts};

use crate::chart::{self, ChartColumn};
use crate::text::Markup;

/// Sums of the callback attempts to a host.
#[derive(Debug, Default)]
pub(crate) struct HostHealth {
    pub(crate) name: String,
    pub(crate) delivered: u64,
    pub(crate) refused: u64,
    pub(crate) unreachable: u64,
    latencies: LatencyHistogram,
    pub(crate) due: Option<DueCallbacks>,
}

impl HostHealth {
    pub(crate) fn attempts(&self) -> u64 {
        self.delivered + self.refused + self.unreachable
    }

    pub(crate) fn latency(&self, percent: u32) -> Option<TimeDelta> {
        let took = self.latencies.percentile(percent)?;
        TimeDelta::from_std(took).ok()
    }

    pub(crate) fn chip(&self) -> (&'static str, &'static str) {
        let failed = self.attempts() - self.delivered;
        if failed == 0 {
            ("good", "healthy")
        } else if self.delivered == 0 {
            ("bad", "failing")
        } else if failed * 20 >= self.attempts() {
            ("warm", "degraded")
        } else {
            ("good", "mostly healthy")
        }
    }
}

/// Sorted by failed attempts, then by all attempts.
pub(crate) fn sum_by_host(attempts: &[HostAttempts]) -> Vec<HostHealth> {
    let mut hosts: BTreeMap<&str, HostHealth> = BTreeMap::new();
    for attempt in attempts {
        let host = hosts.entry(&attempt.host).or_default();
        attempt.host.clone_into(&mut host.name);
        host.latencies.add(attempt.class, attempt.count);
        match attempt.ending {
            CallbackAttemptResult::Delivered => host.delivered += attempt.count,
            CallbackAttemptResult::Refused => host.refused += attempt.count,
            CallbackAttemptResult::Unreachable => host.unreachable += attempt.count,
        }
    }
    let mut hosts: Vec<_> = hosts.into_values().collect();
    let rank = |host: &HostHealth| (host.refused + host.unreachable, host.attempts());
    hosts.sort_by_key(|host| std::cmp::Reverse(rank(host)));
    hosts
}

pub(crate) fn add_due(hosts: &mut [HostHealth], due: Vec<DueCallbacks>) {
    let mut due: HashMap<_, _> = due.into_iter().map(|due| (due.host.clone(), due)).collect();
    for host in hosts {
        host.due = due.remove(&host.name).filter(|due| due.count > 0);
    }
}

/// A chart with a column per hour, and the number of attempts in the highest column.
pub(crate) fn draw_attempts(
    hours: &[(Timestamp, CallbackAttemptResult, u64)],
    since: Timestamp,
    now: Timestamp,
) -> (Markup, u64) {
    let mut counts: HashMap<Timestamp, [u64; 3]> = HashMap::new();
    for (hour, ending, count) in hours {
        let [delivered, refused, unreachable] = counts.entry(*hour).or_default();
        match ending {
            CallbackAttemptResult::Delivered => *delivered += count,
            CallbackAttemptResult::Refused => *refused += count,
            CallbackAttemptResult::Unreachable => *unreachable += count,
        }
    }
    let (mut columns, mut highest, mut at) = (Vec::new(), 0, since);
    while at <= now {
        let of_hour = counts.get(&at).copied().unwrap_or_default();
        highest = highest.max(of_hour.iter().sum());
        let parts = [
            ("good", "delivered"),
            ("warm", "rejected"),
            ("bad", "no response"),
        ];
        let parts = parts.into_iter().zip(of_hour);
        columns.push(ChartColumn {
            label: at.format("%a %-d %b %H:00 UTC").to_string(),
            parts: parts
                .filter(|(_, count)| *count > 0)
                .map(|((class, name), count)| (class, name.to_owned(), count))
                .collect(),
            ..ChartColumn::default()
        });
        at += TimeDelta::hours(1);
    }
    let name = "Callback attempts by hour";
    (chart::column_chart(name, 120.0, &columns), highest)
}
