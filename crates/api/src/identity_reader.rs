//! Reads what control knows about a caller, for `GET /whoami`.
//!
//! All organizations share control, which also checks API keys. So few requests read it at the same
//! time.

use std::time::Duration;

use domain::api_key::ApiKeyRefusal;
use store::Control;
use store::control::api_key::{self, ApiKeyRow};
use store::control::organization::{self, Organization};
use store::control::project::{self, Project};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::api_error::ApiError;
use crate::caller::Caller;

/// Fewer than the connections to control.
const MAX_CONCURRENT_READS: usize = 2;
/// How long a request may wait for a permit.
const READ_QUEUE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct IdentityReader {
    control: Control,
    permits: Semaphore,
}

/// The rows of a caller.
#[derive(Debug)]
pub(crate) struct KeyIdentity {
    pub(crate) key: ApiKeyRow,
    pub(crate) project: Project,
    pub(crate) organization: Organization,
}

impl IdentityReader {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            control,
            permits: Semaphore::new(MAX_CONCURRENT_READS),
        }
    }

    pub(crate) async fn find(&self, caller: &Caller) -> Result<KeyIdentity, ApiError> {
        let Ok(Ok(_permit)) = timeout(READ_QUEUE_TIMEOUT, self.permits.acquire()).await else {
            let detail = "Too many requests read their identity at the moment. Retry shortly.";
            return Err(ApiError::unavailable(detail, 1));
        };
        let key = api_key::find(&self.control, caller.key).await?;
        let project = project::find(&self.control, caller.project).await?;
        let organization = organization::find(&self.control, caller.organization).await?;
        let (Some(key), Some(project), Some(organization)) = (key, project, organization) else {
            return Err(ApiKeyRefusal::Unknown.into());
        };
        Ok(KeyIdentity {
            key,
            project,
            organization,
        })
    }
}
