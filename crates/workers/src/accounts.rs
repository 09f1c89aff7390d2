//! What this process knows of each provider account: whether it answers, and whether it is full.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::breaker::{Allowance, Change, CircuitBreaker};
use domain::time::Timestamp;
use outbound::provider::call::CallFailure;
use store::Shard;

/// How many batches of one account this process works on at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSlots {
    /// Being submitted.
    pub submissions: usize,
    /// Being polled, or their results stored.
    pub polls: usize,
    /// Being asked for one by one.
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

#[derive(Debug)]
pub(crate) struct Accounts {
    shard: Arc<Shard>,
    known: Mutex<HashMap<String, Account>>,
}

#[derive(Debug, Default)]
struct Account {
    breaker: CircuitBreaker,
    full_until: Option<Timestamp>,
}

impl Accounts {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            known: Mutex::default(),
        }
    }

    pub(crate) fn allowance(&self, name: &str, now: Timestamp) -> Allowance {
        let known = self.lock();
        known
            .get(name)
            .map_or(Allowance::Any, |it| it.breaker.allowance(now))
    }

    /// Takes the one probe of an account that is left alone otherwise.
    pub(crate) fn probe(self: &Arc<Self>, name: &str) -> Option<Probe> {
        let mut known = self.lock();
        let account = known.get_mut(name).filter(|it| it.breaker.is_open())?;
        account.breaker.begin_probe();
        drop(known);
        Some(Probe {
            accounts: self.clone(),
            name: name.to_owned(),
        })
    }

    /// Judges the account by the end of a control call: one that concerns a job or the account,
    /// never a single item.
    pub(crate) fn judge<T>(&self, name: &str, ended: &Result<T, CallFailure>) {
        match ended {
            Err(
                failure @ (CallFailure::Busy { .. }
                | CallFailure::Unavailable { .. }
                | CallFailure::Unknown(_)),
            ) => self.failed(name, &failure.to_string()),
            // Our own disk says nothing about the account.
            Err(CallFailure::Spool(_)) => {}
            Ok(_) | Err(_) => self.answered(name),
        }
    }

    pub(crate) fn failed(&self, name: &str, why: &str) {
        let now = self.shard.clock.now();
        let change = self.account(name, |it| it.breaker.failed(now));
        if let Change::Opened { until } = change {
            tracing::warn!(shard = %self.shard.name, provider = name, why, %until, "circuit breaker opened: {name} is not called until {until}");
            self.report(name, true);
        }
    }

    pub(crate) fn answered(&self, name: &str) {
        let change = self.account(name, |it| it.breaker.answered());
        if change == Change::Closed {
            tracing::info!(shard = %self.shard.name, provider = name, "circuit breaker closed: {name} answers again");
            self.report(name, false);
        }
    }

    fn report(&self, name: &str, is_open: bool) {
        let shard = self.shard.name.to_string();
        metrics::gauge!("circuit_breaker_open", "provider" => name.to_owned(), "shard" => shard)
            .set(if is_open { 1.0 } else { 0.0 });
    }

    /// As many tokens wait there as the account may have.
    pub(crate) fn set_full(&self, name: &str, until: Timestamp) {
        self.account(name, |it| it.full_until = Some(until));
    }

    /// A job of the account has ended: there may be room.
    pub(crate) fn set_room(&self, name: &str) {
        if let Some(account) = self.lock().get_mut(name) {
            account.full_until = None;
        }
    }

    pub(crate) fn is_full(&self, name: &str, now: Timestamp) -> bool {
        let known = self.lock();
        let until = known.get(name).and_then(|it| it.full_until);
        until.is_some_and(|until| until > now)
    }

    fn account<T>(&self, name: &str, change: impl FnOnce(&mut Account) -> T) -> T {
        change(self.lock().entry(name.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Account>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the batch that probes; if that made no call, the next one may probe.
#[derive(Debug)]
pub(crate) struct Probe {
    accounts: Arc<Accounts>,
    name: String,
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.accounts
            .account(&self.name, |it| it.breaker.end_probe());
    }
}
