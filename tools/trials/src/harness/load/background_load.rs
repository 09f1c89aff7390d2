//! Loads without files that run in the background of a trial.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;

use crate::harness::http::load_request::LoadRequests;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::load::load_log::{self, LoadLog, LoadRecord, LoadSource};
use crate::harness::longshored::catalogue::FREE_MODEL;
use crate::harness::organization::TrialOrganization;

#[derive(Debug)]
pub struct BackgroundLoad {
    client: ServiceClient,
    requests: LoadRequests,
    organizations: Vec<TrialOrganization>,
    log: LoadLog,
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
            log: LoadLog::default(),
        }
    }

    /// One load, never retried.
    pub async fn send_load(&self, number: u64) {
        let count = self.organizations.len().max(1);
        let organization = usize::try_from(number).unwrap_or_default() % count;
        let source = LoadSource {
            organization,
            ..LoadSource::default()
        };
        if let Some(organization) = self.organizations.get(organization) {
            let mut request = String::new();
            self.requests.write(&mut request, organization, number);
            self.log.send(&self.client, &request, source).await;
        }
    }

    /// Milliseconds of the accepted loads that began in this period.
    pub fn accepted_milliseconds(&self, from: Instant, before: Instant) -> Vec<f64> {
        load_log::milliseconds_where(&self.log.between(from, before), LoadRecord::is_accepted)
    }

    /// Loads without a 2xx, by status or error.
    pub fn failures(&self) -> Value {
        self.log.failures_by_reason()
    }

    pub fn all_were_accepted(&self) -> bool {
        self.log.count_failures() == 0 && self.log.count(LoadRecord::is_accepted) > 0
    }
}
