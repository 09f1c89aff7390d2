//! What this process knows about each provider account: its circuit breaker, and whether it is
//! full.

use std::collections::HashMap;
use std::sync::Arc;

use domain::circuit_breaker::{Allowance, BreakerChange, CircuitBreaker};
use domain::lane::Lane;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use outbound::provider::client::ProviderCallFailure;
use parking_lot::{Mutex, MutexGuard};
use store::Shard;

/// How many batches of one account this process works on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSlots {
    /// Batches being submitted.
    pub submissions: usize,
    /// Batches being polled, or whose results are being stored.
    pub polls: usize,
    /// Batches sent as realtime requests.
    pub streams: usize,
}

impl Default for AccountSlots {
    fn default() -> Self {
        Self {
            submissions: 4,
            polls: 8,
            streams: 4,
        }
    }
}

/// The name under which the state of a lane's account is kept. Flex has a state of its own: an
/// account without spare capacity still takes batches and realtime requests.
pub(crate) fn account_key(lane: &Lane) -> String {
    match lane.via {
        InferenceMode::Batch | InferenceMode::Realtime => lane.provider.clone(),
        InferenceMode::Flex => format!("{} (flex)", lane.provider),
    }
}

#[derive(Debug)]
pub(crate) struct AccountStates {
    shard: Arc<Shard>,
    states: Mutex<HashMap<String, AccountState>>,
}

#[derive(Debug, Default)]
struct AccountState {
    breaker: CircuitBreaker,
    full_until: Option<Timestamp>,
}

impl AccountStates {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            states: Mutex::default(),
        }
    }

    pub(crate) fn allowance(&self, name: &str, now: Timestamp) -> Allowance {
        let known = self.lock();
        known
            .get(name)
            .map_or(Allowance::Any, |it| it.breaker.allowance(now))
    }

    /// Takes the one probe that an open circuit breaker allows.
    pub(crate) fn begin_probe(self: &Arc<Self>, name: &str) -> Option<BreakerProbe> {
        let now = self.shard.clock.now();
        let mut known = self.lock();
        let may_probe = |it: &&mut AccountState| it.breaker.allowance(now) == Allowance::Probe;
        let account = known.get_mut(name).filter(may_probe)?;
        account.breaker.begin_probe();
        drop(known);
        Some(BreakerProbe {
            accounts: self.clone(),
            name: name.to_owned(),
        })
    }

    /// Records the result of a control call in the account's circuit breaker. A control call
    /// concerns a job or the account, never a single item.
    pub(crate) fn record_call<T>(&self, name: &str, ended: &Result<T, ProviderCallFailure>) {
        match ended {
            Err(
                failure @ (ProviderCallFailure::RateLimited { .. }
                | ProviderCallFailure::Unavailable { .. }
                | ProviderCallFailure::Indeterminate(_)),
            ) => self.record_failure(name, &failure.to_string()),
            // A failure of the local disk says nothing about the account.
            Err(ProviderCallFailure::Spool(_)) => {}
            Ok(_) | Err(_) => self.record_answer(name),
        }
    }

    pub(crate) fn record_failure(&self, name: &str, why: &str) {
        let now = self.shard.clock.now();
        let change = self.update(name, |it| it.breaker.record_failure(now));
        if let BreakerChange::Opened { until } = change {
            tracing::warn!(shard = %self.shard.name, provider = name, why, %until, "circuit breaker opened: the provider account is not called until it may be probed");
            self.set_breaker_gauge(name, true);
        }
    }

    /// As [`AccountStates::record_failure`]; returns until when the account is not called, if its
    /// circuit breaker is open now.
    pub(crate) fn record_refusal(&self, name: &str, why: &str) -> Option<Timestamp> {
        self.record_failure(name, why);
        self.open_until(name)
    }

    /// Until when the account is not called.
    pub(crate) fn open_until(&self, name: &str) -> Option<Timestamp> {
        let now = self.shard.clock.now();
        let known = self.lock();
        known.get(name)?.breaker.open_until(now)
    }

    pub(crate) fn record_answer(&self, name: &str) {
        let change = self.update(name, |it| it.breaker.record_answer());
        if change == BreakerChange::Closed {
            tracing::info!(shard = %self.shard.name, provider = name, "circuit breaker closed: the provider account answers again");
            self.set_breaker_gauge(name, false);
        }
    }

    fn set_breaker_gauge(&self, name: &str, is_open: bool) {
        let shard = self.shard.name.to_string();
        metrics::gauge!("longshore_provider_circuit_breaker_open", "provider" => name.to_owned(), "shard" => shard)
            .set(if is_open { 1.0 } else { 0.0 });
    }

    /// The account has as many enqueued tokens as it may have.
    pub(crate) fn set_full(&self, name: &str, until: Timestamp) {
        self.update(name, |it| it.full_until = Some(until));
    }

    /// A job of the account has ended, so it may take more tokens.
    pub(crate) fn clear_full(&self, name: &str) {
        if let Some(account) = self.lock().get_mut(name) {
            account.full_until = None;
        }
    }

    pub(crate) fn is_full(&self, name: &str, now: Timestamp) -> bool {
        let known = self.lock();
        let until = known.get(name).and_then(|it| it.full_until);
        until.is_some_and(|until| until > now)
    }

    fn update<T>(&self, name: &str, change: impl FnOnce(&mut AccountState) -> T) -> T {
        change(self.lock().entry(name.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AccountState>> {
        self.states.lock()
    }
}

/// A probe of an open circuit breaker. Dropping it allows the next probe.
#[derive(Debug)]
pub(crate) struct BreakerProbe {
    accounts: Arc<AccountStates>,
    name: String,
}

impl Drop for BreakerProbe {
    fn drop(&mut self) {
        self.accounts
            .update(&self.name, |it| it.breaker.end_probe());
    }
}
