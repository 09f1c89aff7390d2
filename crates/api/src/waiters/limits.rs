//! How many requests may wait. Each one occupies a connection.

use std::sync::Arc;
use std::time::Duration;

use domain::concurrency_limit::{ConcurrencyLimit, OwnerPermit};
use domain::id::ProjectId;

const MAX_WAITING_REQUESTS: usize = 10_000;
const MAX_WAITING_REQUESTS_PER_PROJECT: usize = 1000;
/// One request may wait for a thousand cargo, and each takes memory.
const MAX_AWAITED_ROWS: usize = 200_000;
const MAX_AWAITED_ROWS_PER_PROJECT: usize = 50_000;

/// The settings of waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitOptions {
    /// No request waits longer, whatever it asks for.
    pub max_wait: Duration,
    /// The connections of this process. At most three quarters of them may wait.
    pub max_connections: usize,
}

#[derive(Debug)]
pub(crate) struct WaitLimits {
    requests: Arc<ConcurrencyLimit<ProjectId>>,
    rows: Arc<ConcurrencyLimit<ProjectId>>,
}

/// One of the waiting requests, until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitPermit {
    _request: OwnerPermit<ProjectId>,
    _rows: OwnerPermit<ProjectId>,
}

impl WaitLimits {
    pub(crate) fn new(options: WaitOptions) -> Arc<Self> {
        // Requests that do not wait must always find a connection.
        let most = (options.max_connections / 4 * 3).min(MAX_WAITING_REQUESTS);
        Arc::new(Self {
            requests: ConcurrencyLimit::new(most, MAX_WAITING_REQUESTS_PER_PROJECT),
            rows: ConcurrencyLimit::new(MAX_AWAITED_ROWS, MAX_AWAITED_ROWS_PER_PROJECT),
        })
    }

    /// How many requests wait.
    pub(crate) fn count_waiting(&self) -> usize {
        self.requests.running()
    }

    /// None at one of the limits.
    pub(super) fn try_acquire(&self, project: ProjectId, rows: usize) -> Option<WaitPermit> {
        Some(WaitPermit {
            _request: self.requests.try_acquire(project)?,
            _rows: self.rows.try_acquire_many(project, rows)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::id::Berth;

    use super::*;

    fn limits(max_connections: usize) -> Arc<WaitLimits> {
        WaitLimits::new(WaitOptions {
            max_wait: Duration::from_secs(50),
            max_connections,
        })
    }

    fn project(number: u64) -> ProjectId {
        ProjectId::new(<_>::default(), Berth::new(0).unwrap(), number)
    }

    /// How many of `wanted` requests of each of 20 projects may wait.
    fn admit(limits: &WaitLimits, wanted: usize) -> usize {
        let mut permits = Vec::new();
        for number in 0..20 {
            let of_project = (0..wanted).map(|_| limits.try_acquire(project(number), 1));
            permits.extend(of_project.flatten());
        }
        permits.len()
    }

    #[test]
    fn a_project_has_its_share_and_all_leave_connections_free() {
        assert_eq!(admit(&limits(1_000_000), 400), 8000);
        assert_eq!(admit(&limits(1_000_000), 2000), 10_000);
        assert_eq!(admit(&limits(400), 2000), 300);
        let one = limits(1_000_000);
        let permits = (0..1001).map(|_| one.try_acquire(project(1), 1));
        let permits: Vec<_> = permits.flatten().collect();
        assert_eq!(permits.len(), 1000);
        drop(permits);
        assert_eq!(admit(&one, 1), 20);
    }

    #[test]
    fn requests_for_many_cargo_count_their_cargo() {
        let limits = limits(1_000_000);
        let permits = (0..100).map(|_| limits.try_acquire(project(1), 1000));
        let permits: Vec<_> = permits.flatten().collect();
        assert_eq!(permits.len(), 50);
        // A refused request counts nowhere.
        assert_eq!(limits.count_waiting(), 50);
    }
}
