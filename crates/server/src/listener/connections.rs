//! The connection table of a listener: its limits, and which connections are closed to make room.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::activity::ConnectionActivity;
use super::options::Options;

/// At the limit, one of so many connections is closed at once: searching the whole table for each
/// new connection would cost more than serving it.
const SHED_DIVISOR: usize = 16;
/// Time between two log lines about too many connections.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Connections {
    pub(super) options: Options,
    table: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next_id: u64,
    open: HashMap<u64, ConnectionEntry>,
    per_address: HashMap<IpAddr, usize>,
    logged_at: Option<Instant>,
}

#[derive(Debug)]
struct ConnectionEntry {
    activity: Arc<ConnectionActivity>,
    shed: CancellationToken,
    address: Option<IpAddr>,
}

/// A connection's slot in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    id: u64,
    address: Option<IpAddr>,
    connections: Arc<Connections>,
    pub(super) activity: Arc<ConnectionActivity>,
    /// Cancelled when the connection has to make room.
    pub(super) shed: CancellationToken,
}

/// Why a new connection has no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// All connections are busy.
    Busy,
    /// From this time on, others are old enough to make room.
    Until(Instant),
}

impl Connections {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            options,
            table: Mutex::default(),
        })
    }

    /// A slot for a new connection. At a limit, others make room.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionSlot, NoSlot> {
        let options = &self.options;
        let address = options.counted_address(peer);
        let mut table = self.table.lock();
        if let Some(address) = address {
            let most = options.max_connections_per_address;
            let count = table.per_address.get(&address).copied().unwrap_or_default();
            // A new connection never waits for those of its address.
            if count >= most && table.shed(options, most, Some(address)).is_err() {
                return Err(NoSlot::Busy);
            }
        }
        let most = options.max_connections;
        if table.open.len() >= most {
            table.shed(options, most, None)?;
        }
        let (activity, shed) = (
            Arc::new(ConnectionActivity::new()),
            CancellationToken::new(),
        );
        let id = table.next_id;
        table.next_id += 1;
        table.open.insert(
            id,
            ConnectionEntry {
                activity: Arc::clone(&activity),
                shed: shed.clone(),
                address,
            },
        );
        if let Some(address) = address {
            *table.per_address.entry(address).or_default() += 1;
        }
        drop(table);
        Ok(ConnectionSlot {
            id,
            address,
            connections: Arc::clone(self),
            activity,
            shed,
        })
    }

    /// Closes connections that do no work because the process has no free file descriptor.
    /// Returns whether there are such.
    pub(super) fn shed(&self) -> bool {
        let mut table = self.table.lock();
        let most = table.open.len();
        table.shed(&self.options, most, None).is_ok()
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.table.lock().open.len()
    }

    /// Connections of a class that may be closed, or those that may not be closed.
    #[cfg(test)]
    pub(super) fn count_of(&self, class: Option<super::activity::ShedClass>) -> usize {
        let table = self.table.lock();
        let orders = table.open.values().map(|it| it.activity.shed_order());
        orders
            .filter(|it| it.map(|order| order.class) == class)
            .count()
    }
}

impl ConnectionTable {
    /// Makes room when `most` connections are open, of one address or in total: some are closing,
    /// chosen now or before, and their tasks have not run yet.
    fn shed(
        &mut self,
        options: &Options,
        most: usize,
        address: Option<IpAddr>,
    ) -> Result<(), NoSlot> {
        let entries = self.open.values();
        let entries = entries.filter(|entry| address.is_none() || entry.address == address);
        let (closing, open): (Vec<&ConnectionEntry>, Vec<&ConnectionEntry>) =
            entries.partition(|entry| entry.shed.is_cancelled());
        // A few connections above the limit may exist until the closing tasks have run.
        let wanted = (most / SHED_DIVISOR).max(1);
        if !closing.is_empty() && closing.len() + open.len() < most + wanted {
            return Ok(());
        }
        let now = Instant::now();
        let (mut candidates, too_young): (Vec<_>, Vec<_>) = open
            .into_iter()
            .filter_map(|entry| Some((entry.activity.shed_order()?, &entry.shed)))
            .partition(|(order, _)| now - order.since >= options.min_shed_age);
        let oldest = too_young.iter().map(|(order, _)| order.since).min();
        // A burst without a key is waited for, before others lose their connections.
        let is_burst = too_young.iter().any(|(order, _)| !order.is_authenticated);
        candidates.retain(|(order, _)| !(is_burst && order.is_authenticated));
        candidates.sort_unstable_by_key(|(order, _)| *order);
        let victims = candidates.iter().take(wanted);
        let count = victims.map(|(_, shed)| shed.cancel()).count();
        metrics::counter!("longshore_http_connections_shed_total").increment(count as u64);
        let is_quiet = self.logged_at.is_some_and(|at| now - at < LOG_INTERVAL);
        if !is_quiet {
            self.logged_at = Some(now);
            tracing::warn!(
                open = self.open.len(),
                shed = count,
                address = address.map(tracing::field::display),
                "too many connections: closing idle, half-open and unread ones; check \
                 SVC_MAX_CONNECTIONS, SVC_MAX_CONNECTIONS_PER_ADDRESS and ulimit -n"
            );
        }
        match oldest {
            _ if count > 0 => Ok(()),
            Some(oldest) => Err(NoSlot::Until(oldest + options.min_shed_age)),
            None => Err(NoSlot::Busy),
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut table = self.connections.table.lock();
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
