//! How hosts answer: sums of their attempts, and a picture of them by hour.

use std::collections::{BTreeMap, HashMap};

use chrono::TimeDelta;
use domain::callback_health::{Ending, Latencies};
use domain::time::Timestamp;
use store::view::callbacks::{Attempts, Due};

use crate::chart::{self, Column};
use crate::text::Markup;

/// What the attempts at a host came to.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) delivered: u64,
    pub(crate) refused: u64,
    pub(crate) unreachable: u64,
    latencies: Latencies,
    pub(crate) due: Option<Due>,
}

impl Host {
    pub(crate) fn attempts(&self) -> u64 {
        self.delivered + self.refused + self.unreachable
    }

    pub(crate) fn took(&self, percent: u32) -> Option<TimeDelta> {
        let took = self.latencies.percentile(percent)?;
        TimeDelta::from_std(took).ok()
    }

    /// Well, unwell or not at all.
    pub(crate) fn chip(&self) -> (&'static str, &'static str) {
        let failed = self.attempts() - self.delivered;
        if failed == 0 {
            ("good", "well")
        } else if self.delivered == 0 {
            ("bad", "fails")
        } else if failed * 20 >= self.attempts() {
            ("warm", "unsteady")
        } else {
            ("good", "mostly well")
        }
    }
}

/// Those with the most failed attempts first, then the busiest.
pub(crate) fn hosts(attempts: &[Attempts]) -> Vec<Host> {
    let mut hosts: BTreeMap<&str, Host> = BTreeMap::new();
    for attempt in attempts {
        let host = hosts.entry(&attempt.host).or_default();
        attempt.host.clone_into(&mut host.name);
        host.latencies.add(attempt.class, attempt.count);
        match attempt.ending {
            Ending::Delivered => host.delivered += attempt.count,
            Ending::Refused => host.refused += attempt.count,
            Ending::Unreachable => host.unreachable += attempt.count,
        }
    }
    let mut hosts: Vec<_> = hosts.into_values().collect();
    let rank = |host: &Host| (host.refused + host.unreachable, host.attempts());
    hosts.sort_by_key(|host| std::cmp::Reverse(rank(host)));
    hosts
}

pub(crate) fn add_due(hosts: &mut [Host], due: Vec<Due>) {
    let mut due: HashMap<_, _> = due.into_iter().map(|due| (due.host.clone(), due)).collect();
    for host in hosts {
        host.due = due.remove(&host.name).filter(|due| due.count > 0);
    }
}

/// A column for every hour, and how many attempts the highest stands for.
pub(crate) fn draw(
    hours: &[(Timestamp, Ending, u64)],
    since: Timestamp,
    now: Timestamp,
) -> (Markup, u64) {
    let mut counts: HashMap<Timestamp, [u64; 3]> = HashMap::new();
    for (hour, ending, count) in hours {
        let [delivered, refused, unreachable] = counts.entry(*hour).or_default();
        match ending {
            Ending::Delivered => *delivered += count,
            Ending::Refused => *refused += count,
            Ending::Unreachable => *unreachable += count,
        }
    }
    let (mut columns, mut highest, mut at) = (Vec::new(), 0, since);
    while at <= now {
        let of_hour = counts.get(&at).copied().unwrap_or_default();
        highest = highest.max(of_hour.iter().sum());
        let parts = [
            ("good", "delivered"),
            ("warm", "refused"),
            ("bad", "unreachable"),
        ];
        let parts = parts.into_iter().zip(of_hour);
        columns.push(Column {
            label: at.format("%a %-d %b %H:00 UTC").to_string(),
            parts: parts
                .filter(|(_, count)| *count > 0)
                .map(|((class, name), count)| (class, name.to_owned(), count))
                .collect(),
            ..Column::default()
        });
        at += TimeDelta::hours(1);
    }
    let name = "Callback attempts by hour";
    (chart::columns(name, 120.0, &columns), highest)
}
