//! Which server was away when, and so what a caller may be told.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What connections and probes may need to come back.
pub const RECOVERY: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Outage {
    server: String,
    back_at: Option<Instant>,
}

/// Every outage of a run, in order.
#[derive(Debug, Default)]
pub struct Weather(Mutex<Vec<Outage>>);

impl Weather {
    pub fn gone(&self, server: &str) {
        let outage = Outage {
            server: server.to_owned(),
            back_at: None,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(outage);
    }

    /// The one that went last is back.
    pub fn back(&self) {
        let mut outages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outage) = outages.last_mut() {
            outage.back_at = Some(Instant::now());
        }
    }

    /// Whether a request that began then and has ended now may have missed `server`.
    pub fn excuses(&self, server: &str, began: Instant) -> bool {
        let outages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outages.iter().any(|outage| {
            let over = outage
                .back_at
                .is_some_and(|back_at| began > back_at + RECOVERY);
            outage.server == server && !over
        })
    }

    /// Whether any server is away at this moment.
    pub fn is_stormy(&self) -> bool {
        let outages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outages
            .last()
            .is_some_and(|outage| outage.back_at.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_excuses_only_its_own_server_and_only_for_a_while() {
        let weather = Weather::default();
        let before = Instant::now();
        assert!(!weather.excuses("north", before));
        weather.gone("north");
        assert!(weather.is_stormy());
        assert!(weather.excuses("north", before));
        assert!(!weather.excuses("south", before));
        weather.back();
        assert!(!weather.is_stormy());
        let now = Instant::now();
        assert!(weather.excuses("north", now));
        assert!(!weather.excuses("north", now + RECOVERY + Duration::from_secs(1)));
    }
}
