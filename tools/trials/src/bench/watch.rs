//! Memory and CPU of the processes of a service, looked at while something else happens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cpu;
use crate::failure::Result;
use crate::figures::rounded;
use crate::memory;

const LOOK: Duration = Duration::from_millis(50);

/// A process, and whether its children count with it.
#[derive(Debug, Clone, Copy)]
pub struct Party {
    pub name: &'static str,
    pub pid: u32,
    pub is_family: bool,
}

/// Looks at memory until it is dropped.
#[derive(Debug)]
pub struct Watch {
    parties: Vec<Party>,
    most: Arc<Mutex<BTreeMap<&'static str, f64>>>,
    _looking: JoinSet<()>,
}

/// CPU seconds by party.
pub type Readings = BTreeMap<&'static str, f64>;

impl Watch {
    pub fn start(parties: Vec<Party>) -> Self {
        let most = Arc::new(Mutex::new(BTreeMap::new()));
        let mut looking = JoinSet::new();
        looking.spawn(look(parties.clone(), Arc::clone(&most)));
        Self {
            parties,
            most,
            _looking: looking,
        }
    }

    /// Megabytes of each at this moment; the greatest are forgotten.
    pub fn calm(&self) -> Readings {
        let now = memory_of(&self.parties);
        open(&self.most).clone_from(&now);
        now
    }

    /// The most megabytes of each since then.
    pub fn most(&self) -> Readings {
        open(&self.most).clone()
    }

    pub fn cpu(&self) -> Result<Readings> {
        let mut read = BTreeMap::new();
        for party in &self.parties {
            let seconds = if party.is_family {
                cpu::of_family(party.pid)?
            } else {
                cpu::of_process(party.pid)?
            };
            read.insert(party.name, seconds);
        }
        Ok(read)
    }

    pub fn cpu_since(&self, before: &Readings) -> Result<Value> {
        let used = self.cpu()?.into_iter().map(|(name, seconds)| {
            let earlier = before.get(name).copied().unwrap_or_default();
            (name.to_owned(), json!(rounded(seconds - earlier, 1)))
        });
        Ok(Value::Object(used.collect()))
    }
}

async fn look(parties: Vec<Party>, most: Arc<Mutex<Readings>>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let now = memory_of(&parties);
        let mut most = open(&most);
        for (name, megabytes) in now {
            let greatest = most.entry(name).or_default();
            *greatest = greatest.max(megabytes);
        }
    }
}

fn memory_of(parties: &[Party]) -> Readings {
    let read = |party: &Party| Some((party.name, memory::of_process(party.pid).ok()?));
    parties.iter().filter_map(read).collect()
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
