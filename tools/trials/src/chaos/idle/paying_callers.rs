//! Callers with a key, half of whose loads use new connections and half keep-alive connections.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::chaos::neighbours::steady_load::{self, LoadObservation, LoadWindow, SteadyLoad};
use crate::harness::{ConnectionReuse, PRICED_MODEL, ServiceClient, TrialEnvironment};

#[derive(Debug)]
pub(super) struct PayingCallers {
    keep_alive: Arc<SteadyLoad>,
    per_request: Arc<SteadyLoad>,
}

impl PayingCallers {
    pub(super) fn new(environment: &TrialEnvironment, target: SocketAddr) -> Self {
        let load = |reuse| {
            let client = ServiceClient::with_reuse(target, reuse);
            let members = steady_load::members(environment);
            SteadyLoad::with_client(client, environment, members, &[PRICED_MODEL])
        };
        Self {
            keep_alive: load(ConnectionReuse::KeepAlive),
            per_request: load(ConnectionReuse::PerRequest),
        }
    }

    /// Loads at this rate until `event` ends; returns its result and the window.
    pub(super) async fn load_during<T>(
        &self,
        rate: u32,
        event: impl Future<Output = T>,
    ) -> (T, LoadWindow) {
        let rate = (rate / 2).max(1);
        let event = self.keep_alive.load_during(rate, event);
        let (ended, _) = self.per_request.load_during(rate, event).await;
        ended
    }

    pub(super) async fn wait_for_callbacks(&self, within: Duration) {
        self.keep_alive.wait_for_callbacks(within).await;
        self.per_request.wait_for_callbacks(within).await;
    }

    /// The results of all loads that began in these windows.
    pub(super) fn observe(&self, windows: &[LoadWindow]) -> LoadObservation {
        let mut all = LoadObservation::default();
        for window in windows {
            for loads in [&self.keep_alive, &self.per_request] {
                let seen = loads.observe(*window, None);
                all.load_milliseconds.extend(seen.load_milliseconds);
                all.without_callback += seen.without_callback;
                for (answer, count) in seen.refused {
                    *all.refused.entry(answer).or_default() += count;
                }
            }
        }
        all
    }
}
