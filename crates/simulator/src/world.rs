//! All accounts, and the clock that they share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::account::Account;
use crate::clock::Clock;
use crate::provider::Provider;

#[derive(Debug)]
pub struct World {
    pub clock: Clock,
    seed: u64,
    accounts: Mutex<HashMap<(Provider, String), Shared>>,
}

/// One account; its lock is never held while anything is awaited.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Mutex<Account>>);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    pub fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            accounts: Mutex::default(),
        }
    }

    /// The account that a credential names; its first use makes it.
    pub fn account(&self, provider: Provider, name: &str) -> Shared {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let account = accounts
            .entry((provider, name.to_owned()))
            .or_insert_with(|| {
                let account = Account::new(provider, name, self.seed);
                Shared(Arc::new(Mutex::new(account)))
            });
        account.clone()
    }

    /// Its files, jobs and records go; the next use of the credential begins anew.
    pub fn forget(&self, provider: Provider, name: &str) {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.remove(&(provider, name.to_owned()));
    }
}
