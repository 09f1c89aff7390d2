//! The callers of most chaos trials.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::harness::load::load_log::LoadLog;
use crate::harness::{
    CallbackReceipts, CallbackSink, LoadRequests, ServiceClient, TrialOrganization,
};

/// The state of the load generator.
#[derive(Debug)]
pub struct ChaosCallers {
    pub organizations: Vec<TrialOrganization>,
    pub clients: Vec<ServiceClient>,
    pub requests: LoadRequests,
    pub load_log: LoadLog,
    pub receipts: Arc<CallbackReceipts>,
    pub callback_url: String,
}

impl ChaosCallers {
    pub fn new(
        organizations: Vec<TrialOrganization>,
        services: impl Iterator<Item = SocketAddr>,
        models: &[String],
        sink: &CallbackSink,
    ) -> Self {
        let models: Vec<&str> = models.iter().map(String::as_str).collect();
        Self {
            organizations,
            clients: services.map(ServiceClient::new).collect(),
            requests: LoadRequests::new(&sink.url(), &models),
            load_log: LoadLog::default(),
            receipts: Arc::clone(&sink.receipts),
            callback_url: sink.url(),
        }
    }
}
