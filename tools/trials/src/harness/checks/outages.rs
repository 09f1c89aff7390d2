//! When each server was down, and so which requests may fail.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long connections and probes may take to recover.
pub const RECOVERY_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct ServerOutage {
    server: String,
    back_at: Option<Instant>,
}

/// Every outage of a run, in order.
#[derive(Debug, Default)]
pub struct ServerOutages(Mutex<Vec<ServerOutage>>);

impl ServerOutages {
    pub fn begin(&self, server: &str) {
        let outage = ServerOutage {
            server: server.to_owned(),
            back_at: None,
        };
        self.0.lock().push(outage);
    }

    /// Ends the latest outage.
    pub fn end(&self) {
        let mut outages = self.0.lock();
        if let Some(outage) = outages.last_mut() {
            outage.back_at = Some(Instant::now());
        }
    }

    /// Whether `server` may have been down for a request that began then and has just ended.
    pub fn may_affect(&self, server: &str, began: Instant) -> bool {
        let outages = self.0.lock();
        outages.iter().any(|outage| {
            let over = outage
                .back_at
                .is_some_and(|back_at| began > back_at + RECOVERY_GRACE);
            outage.server == server && !over
        })
    }

    pub fn is_any_down(&self) -> bool {
        let outages = self.0.lock();
        outages
            .last()
            .is_some_and(|outage| outage.back_at.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_may_affect_only_its_own_server_and_only_for_a_while() {
        let outages = ServerOutages::default();
        let before = Instant::now();
        assert!(!outages.may_affect("north", before));
        outages.begin("north");
        assert!(outages.is_any_down());
        assert!(outages.may_affect("north", before));
        assert!(!outages.may_affect("south", before));
        outages.end();
        assert!(!outages.is_any_down());
        let now = Instant::now();
        assert!(outages.may_affect("north", now));
        assert!(!outages.may_affect("north", now + RECOVERY_GRACE + Duration::from_secs(1)));
    }
}
