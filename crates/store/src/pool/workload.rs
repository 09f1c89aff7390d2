//! Timeouts of a connection, by the kind of work that uses it.
//!
//! The server's timeouts are shorter than the client's deadline. Where row locks are held, both are
//! shorter than a lease (10 s), so a frozen process loses its locks before its lease expires.

use std::time::Duration;

/// The first version of PostgreSQL that bounds a whole transaction.
pub(super) const MIN_TRANSACTION_TIMEOUT_VERSION: u32 = 170_000;

/// A kind of work. Each kind has different timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadClass {
    /// Renewing a lease. A late answer counts as a missed renewal.
    Lease,
    /// Freeing the claims of dead nodes.
    Cleanup,
    /// Groups of loads.
    Writer,
    /// Keys, organizations and people. Rare enough to ping every connection before use.
    Control,
    /// Everything that stages and routes do.
    Stage,
    /// Sweeps, folds and audits.
    Background,
    /// Tracking and dashboard pages. Read only.
    Read,
    /// Commands that an operator waits for.
    Operator,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLimits {
    pub(super) statement: Duration,
    pub(super) lock: Duration,
    pub(super) idle_in_transaction: Duration,
    /// The client's deadline for a statement outside a transaction, and for a whole transaction.
    pub(super) deadline: Duration,
    pub(super) is_read_only: bool,
}

impl WorkloadClass {
    pub(super) const fn limits(self) -> SessionLimits {
        // A frozen process keeps accounts locked until the server ends its idle sessions, one
        // after the other. Other processes wait that long.
        let (statement, lock, idle, deadline) = match self {
            Self::Lease => (1_000, 300, 1_000, 1_500),
            Self::Cleanup => (3_000, 500, 2_000, 4_000),
            Self::Writer => (8_000, 5_000, 1_500, 10_000),
            Self::Control | Self::Stage => (8_000, 4_000, 2_500, 9_000),
            Self::Background => (30_000, 2_000, 8_000, 35_000),
            Self::Read => (4_000, 1_000, 4_000, 5_000),
            Self::Operator => (600_000, 10_000, 60_000, 900_000),
        };
        SessionLimits {
            statement: Duration::from_millis(statement),
            lock: Duration::from_millis(lock),
            idle_in_transaction: Duration::from_millis(idle),
            deadline: Duration::from_millis(deadline),
            is_read_only: matches!(self, Self::Read),
        }
    }

    /// How long a transaction may be idle between two statements.
    pub(crate) const fn idle_limit(self) -> Duration {
        self.limits().idle_in_transaction
    }

    /// The limits as server settings. Since version 17 one of them bounds a whole transaction.
    pub(super) fn settings(self, version: u32) -> Vec<(&'static str, String)> {
        let limits = self.limits();
        let millis = |time: Duration| time.as_millis().to_string();
        let mut settings = vec![
            ("statement_timeout", millis(limits.statement)),
            ("lock_timeout", millis(limits.lock)),
            (
                "idle_in_transaction_session_timeout",
                millis(limits.idle_in_transaction),
            ),
            (
                "default_transaction_read_only",
                if limits.is_read_only { "on" } else { "off" }.to_owned(),
            ),
        ];
        if version >= MIN_TRANSACTION_TIMEOUT_VERSION {
            let whole = limits.deadline + Duration::from_secs(1);
            settings.push(("transaction_timeout", millis(whole)));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_speaks_before_the_client_gives_up() {
        for class in [
            WorkloadClass::Lease,
            WorkloadClass::Cleanup,
            WorkloadClass::Writer,
            WorkloadClass::Control,
            WorkloadClass::Stage,
            WorkloadClass::Background,
            WorkloadClass::Read,
            WorkloadClass::Operator,
        ] {
            let limits = class.limits();
            assert!(limits.lock < limits.statement, "{class:?}");
            assert!(limits.statement < limits.deadline, "{class:?}");
            assert!(limits.idle_in_transaction < limits.deadline, "{class:?}");
        }
    }
}
