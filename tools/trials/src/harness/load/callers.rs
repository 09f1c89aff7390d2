//! The callers of most chaos trials.

use std::sync::Arc;

use crate::harness::callbacks::receipts::CallbackReceipts;
use crate::harness::http::load_request::LoadRequests;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::load::load_log::LoadLog;
use crate::harness::organization::TrialOrganization;

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
