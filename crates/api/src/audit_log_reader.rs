//! Reads the audit log for `GET /audit`.
//!
//! The log is in control, which all organizations share and which also checks API keys. So few
//! requests read it at the same time.

use std::sync::Arc;
use std::time::Duration;

use domain::api_key::ApiKeyRefusal;
use domain::audit_token::AuditToken;
use domain::id::OrganizationId;
use domain::time::Clock;
use store::Control;
use store::control::audit_log::{self, AuditLogEntry};
use store::control::audit_token::{self, AuditTokenRow};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::api_error::ApiError;

/// Fewer than the connections to control.
const MAX_CONCURRENT_READS: usize = 2;
/// How long a request may wait for a permit.
const READ_QUEUE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct AuditLogReader {
    control: Control,
    clock: Arc<dyn Clock>,
    permits: Semaphore,
}

impl AuditLogReader {
    pub(crate) fn new(control: Control, clock: Arc<dyn Clock>) -> Self {
        Self {
            control,
            clock,
            permits: Semaphore::new(MAX_CONCURRENT_READS),
        }
    }

    /// Waits for a turn. The request keeps it until its answer is read.
    pub(crate) async fn acquire(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        let acquired = timeout(READ_QUEUE_TIMEOUT, self.permits.acquire()).await;
        if let Ok(Ok(permit)) = acquired {
            return Ok(permit);
        }
        let detail = "Too many requests read audit logs at the moment. Retry shortly.";
        Err(ApiError::unavailable(detail, 1))
    }

    /// Authenticates the value of the header.
    pub(crate) async fn authenticate(&self, presented: &[u8]) -> Result<AuditTokenRow, ApiError> {
        let digest = AuditToken::parse(presented)?.digest();
        let found = audit_token::authenticate(&self.control, digest, self.clock.now()).await?;
        Ok(found.ok_or(ApiKeyRefusal::Unknown)?)
    }

    /// A page of the log of one organization, or of the whole service.
    pub(crate) async fn list_after(
        &self,
        organization: Option<OrganizationId>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditLogEntry>, ApiError> {
        Ok(audit_log::list_after(&self.control, organization, after, limit).await?)
    }
}
