//! Loads without files that run in the background of a trial.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::http::load_request::LoadRequests;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::load::load_log;
use crate::harness::lock::lock;
use crate::harness::longshored::catalogue::FREE_MODEL;
use crate::harness::measurement::statistics;
use crate::harness::organization::TrialOrganization;

#[derive(Debug)]
pub struct BackgroundLoad {
    client: ServiceClient,
    requests: LoadRequests,
    organizations: Vec<TrialOrganization>,
    /// When each began, and how many milliseconds it took.
    accepted: Mutex<Vec<(Instant, f64)>>,
    failures: Mutex<BTreeMap<String, u64>>,
}

impl BackgroundLoad {
    pub fn new(
        service: SocketAddr,
        callback_url: &str,
        organizations: &[TrialOrganization],
    ) -> Self {
        Self {
            client: ServiceClient::new(service),
            requests: LoadRequests::new(callback_url, &[FREE_MODEL]),
            organizations: organizations.to_vec(),
            accepted: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    /// One load, never retried.
    pub async fn send_load(&self, number: u64) {
        let count = self.organizations.len().max(1);
        let place = usize::try_from(number).unwrap_or_default() % count;
        let Some(organization) = self.organizations.get(place) else {
            return;
        };
        let mut request = String::new();
        self.requests.write(&mut request, organization, number);
        let began = Instant::now();
        let reason = match self.client.send(request.as_bytes()).await {
            Ok(answer) if answer.is_success() => {
                lock(&self.accepted).push((began, statistics::to_milliseconds(began.elapsed())));
                return;
            }
            Ok(answer) => answer.status.to_string(),
            Err(error) => load_log::error_reason(&error),
        };
        *lock(&self.failures).entry(reason).or_default() += 1;
    }

    /// Milliseconds of the loads that began in this period.
    pub fn accepted_milliseconds(&self, from: Instant, before: Instant) -> Vec<f64> {
        let taken = lock(&self.accepted);
        let within = taken.iter().filter(|(at, _)| (from..before).contains(at));
        within.map(|(_, milliseconds)| *milliseconds).collect()
    }

    /// Loads without a 2xx, by status or error.
    pub fn failures(&self) -> Value {
        json!(*lock(&self.failures))
    }

    pub fn all_were_accepted(&self) -> bool {
        lock(&self.failures).is_empty() && !lock(&self.accepted).is_empty()
    }
}
