//! All connections of a listener: how many there may be, and which are closed for others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::options::Options;

/// Of the connections allowed, this part is closed at once when there are too many: looking
/// through all of them for each new one would cost more than serving it.
const SHED_PART: usize = 16;
/// Between two lines in the log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Connections {
    pub(super) options: Options,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next_id: u64,
    open: HashMap<u64, Entry>,
    per_address: HashMap<IpAddr, usize>,
    logged_at: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    activity: Arc<Activity>,
    shed: CancellationToken,
    address: Option<IpAddr>,
}

/// A connection's place in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct Admission {
    id: u64,
    address: Option<IpAddr>,
    connections: Arc<Connections>,
    pub(super) activity: Arc<Activity>,
    /// Cancelled when the connection is to make room.
    pub(super) shed: CancellationToken,
}

impl Connections {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            options,
            table: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection. Nothing when there are too many and all of them are busy.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Admission> {
        let options = &self.options;
        let address = options.counted_address(peer);
        let mut table = self.lock();
        if let Some(address) = address {
            let most = options.max_connections_per_address;
            let count = table.per_address.get(&address).copied().unwrap_or_default();
            if count >= most && table.shed(options, most, Some(address)) == 0 {
                return None;
            }
        }
        let most = options.max_connections;
        if table.open.len() >= most && table.shed(options, most, None) == 0 {
            return None;
        }
        let (activity, shed) = (Arc::new(Activity::new()), CancellationToken::new());
        let id = table.next_id;
        table.next_id += 1;
        table.open.insert(
            id,
            Entry {
                activity: Arc::clone(&activity),
                shed: shed.clone(),
                address,
            },
        );
        if let Some(address) = address {
            *table.per_address.entry(address).or_default() += 1;
        }
        drop(table);
        Some(Admission {
            id,
            address,
            connections: Arc::clone(self),
            activity,
            shed,
        })
    }

    /// Closes connections that are idle or half-open, because the process has no file left.
    /// Returns how many.
    pub(super) fn shed(&self) -> usize {
        let mut table = self.lock();
        let most = table.open.len();
        table.shed(&self.options, most, None)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// Of a class of those that may be closed, or of those that may not.
    #[cfg(test)]
    pub(super) fn count_of(&self, class: Option<super::activity::ShedClass>) -> usize {
        let table = self.lock();
        let orders = table.open.values().map(|it| it.activity.shed_order());
        orders
            .filter(|it| it.map(|(class, _)| class) == class)
            .count()
    }
}

impl Table {
    /// Makes room for connections beyond `most`, of one address or of all. Returns how many are
    /// closing: those told now, and those told before whose task has not run yet.
    fn shed(&mut self, options: &Options, most: usize, address: Option<IpAddr>) -> usize {
        let entries = self.open.values();
        let entries = entries.filter(|entry| address.is_none() || entry.address == address);
        let (closing, open): (Vec<&Entry>, Vec<&Entry>) =
            entries.partition(|entry| entry.shed.is_cancelled());
        // A few more than allowed may be there until the tasks of those that close have run.
        let wanted = (most / SHED_PART).max(1);
        if !closing.is_empty() && closing.len() + open.len() < most + wanted {
            return closing.len();
        }
        let now = Instant::now();
        let mut candidates: Vec<_> = open
            .into_iter()
            .filter_map(|entry| Some((entry.activity.shed_order()?, &entry.shed)))
            .filter(|((_, since), _)| now - *since >= options.min_shed_age)
            .collect();
        candidates.sort_unstable_by_key(|(order, _)| *order);
        let victims = candidates.iter().take(wanted);
        let count = victims.map(|(_, shed)| shed.cancel()).count();
        metrics::counter!("http_connections_shed_total").increment(count as u64);
        let is_quiet = self.logged_at.is_some_and(|at| now - at < LOG_INTERVAL);
        if !is_quiet {
            self.logged_at = Some(now);
            tracing::warn!(
                open = self.open.len(),
                shed = count,
                address = address.map(tracing::field::display),
                "too many connections: idle and half-open ones are closed, see SVC_MAX_CONNECTIONS, \
                 SVC_MAX_CONNECTIONS_PER_ADDRESS and ulimit -n"
            );
        }
        count
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        table.open.remove(&self.id);
        if let Some(address) = self.address
            && let Some(count) = table.per_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                table.per_address.remove(&address);
            }
        }
    }
}
