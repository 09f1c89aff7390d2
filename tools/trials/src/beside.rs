//! Loads that name no file and go on beside everything else.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::catalogue::FREE;
use crate::figures;
use crate::http::Target;
use crate::ledger;
use crate::organization::Organization;
use crate::request::Loads;

#[derive(Debug)]
pub struct Beside {
    target: Target,
    loads: Loads,
    organizations: Vec<Organization>,
    /// When each began, and how many milliseconds it took.
    taken: Mutex<Vec<(Instant, f64)>>,
    failed: Mutex<BTreeMap<String, u64>>,
}

impl Beside {
    pub fn new(service: SocketAddr, callback_url: &str, organizations: &[Organization]) -> Self {
        Self {
            target: Target::new(service),
            loads: Loads::new(callback_url, &[FREE]),
            organizations: organizations.to_vec(),
            taken: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// One load, never repeated.
    pub async fn load(&self, number: u64) {
        let count = self.organizations.len().max(1);
        let place = usize::try_from(number).unwrap_or_default() % count;
        let Some(organization) = self.organizations.get(place) else {
            return;
        };
        let mut request = String::new();
        self.loads.write(&mut request, organization, number);
        let began = Instant::now();
        let reason = match self.target.send(request.as_bytes()).await {
            Ok(answer) if answer.is_success() => {
                open(&self.taken).push((began, figures::milliseconds(began.elapsed())));
                return;
            }
            Ok(answer) => answer.status.to_string(),
            Err(error) => ledger::reason(&error),
        };
        *open(&self.failed).entry(reason).or_default() += 1;
    }

    /// Milliseconds of those that began between two moments.
    pub fn milliseconds(&self, from: Instant, before: Instant) -> Vec<f64> {
        let taken = open(&self.taken);
        let within = taken.iter().filter(|(at, _)| (from..before).contains(at));
        within.map(|(_, milliseconds)| *milliseconds).collect()
    }

    /// Those without a 2xx, by what came instead.
    pub fn failed(&self) -> Value {
        json!(*open(&self.failed))
    }

    pub fn all_were_accepted(&self) -> bool {
        open(&self.failed).is_empty() && !open(&self.taken).is_empty()
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
