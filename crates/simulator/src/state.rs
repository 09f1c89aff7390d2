//! The simulator's state: all accounts and their clock.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::account::SimulatedAccount;
use crate::clock::SimulatorClock;
use crate::provider::SimulatedProvider;

#[derive(Debug)]
pub struct SimulatorState {
    pub clock: SimulatorClock,
    seed: u64,
    accounts: Mutex<HashMap<(SimulatedProvider, String), SharedAccount>>,
}

/// One account. Its lock is never held across an await.
#[derive(Debug, Clone)]
pub struct SharedAccount(Arc<Mutex<SimulatedAccount>>);

impl SharedAccount {
    pub fn lock(&self) -> MutexGuard<'_, SimulatedAccount> {
        self.0.lock()
    }
}

impl SimulatorState {
    pub fn new(clock: SimulatorClock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            accounts: Mutex::default(),
        }
    }

    /// The account of a credential. The first use creates it.
    pub fn account(&self, provider: SimulatedProvider, name: &str) -> SharedAccount {
        let mut accounts = self.accounts.lock();
        let account = accounts
            .entry((provider, name.to_owned()))
            .or_insert_with(|| {
                let account = SimulatedAccount::new(provider, name, self.seed);
                SharedAccount(Arc::new(Mutex::new(account)))
            });
        account.clone()
    }

    /// Deletes the account's files, jobs and records. The next use creates an empty account.
    pub fn forget(&self, provider: SimulatedProvider, name: &str) {
        let mut accounts = self.accounts.lock();
        accounts.remove(&(provider, name.to_owned()));
    }
}
