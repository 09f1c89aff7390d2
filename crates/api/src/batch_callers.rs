//! The caller of a batch, for a process that did not see its request.

use domain::id::{ApiKeyId, OrganizationId, ProjectId};
use domain::key_scope::KeyRight;
use domain::time::Timestamp;
use store::Control;
use store::control::api_key::{self, ApiKeyRow};
use store::control::{organization, project};

use crate::api_error::ApiError;
use crate::caller::Caller;

/// Keys that replace each other are followed so far.
const MAX_SUCCESSORS: usize = 8;

/// Whether a batch may still load items.
#[derive(Debug)]
pub(crate) enum BatchCaller {
    May(Caller),
    /// The project or the key was deactivated, the key has expired, or it may not load.
    Revoked,
    /// The project was erased.
    Erased,
}

/// Finds callers by the ids that a batch has.
#[derive(Debug, Clone)]
pub(crate) struct BatchCallers {
    control: Control,
}

impl BatchCallers {
    pub(crate) const fn new(control: Control) -> Self {
        Self { control }
    }

    /// The plan and the scope are those of now. A key that was revoked loads no more items. A key
    /// that was rotated loads them as its successor.
    pub(crate) async fn find(
        &self,
        organization: OrganizationId,
        project: ProjectId,
        key: ApiKeyId,
        now: Timestamp,
    ) -> Result<BatchCaller, ApiError> {
        let project_row = project::find(&self.control, project).await?;
        let organization_row = organization::find(&self.control, organization).await?;
        let (Some(project_row), Some(organization_row)) = (project_row, organization_row) else {
            return Ok(BatchCaller::Erased);
        };
        if project_row.is_erased {
            return Ok(BatchCaller::Erased);
        }
        let key_row = self.find_valid_key(key, now).await?;
        let key_row = key_row.filter(|row| {
            let rights = row.scope.rights.as_deref();
            rights.is_none_or(|rights| rights.contains(&KeyRight::Load))
        });
        let Some(key_row) = key_row.filter(|_| project_row.is_active) else {
            return Ok(BatchCaller::Revoked);
        };
        let (plan, berth) = (organization_row.plan, organization_row.berth);
        let caller = Caller::on_behalf_of(organization, project, key, plan, berth);
        Ok(BatchCaller::May(caller.with_scope(key_row.scope)))
    }

    /// The key, or the one that replaced it when it had expired. None: it was deactivated, or it
    /// has expired without a successor.
    async fn find_valid_key(
        &self,
        key: ApiKeyId,
        now: Timestamp,
    ) -> Result<Option<ApiKeyRow>, ApiError> {
        let mut id = key;
        for _ in 0..MAX_SUCCESSORS {
            let found = api_key::find(&self.control, id).await?;
            let Some(row) = found.filter(|row| row.is_active) else {
                return Ok(None);
            };
            if row.expires_at.is_none_or(|at| at > now) {
                return Ok(Some(row));
            }
            let Some(successor) = row.successor else {
                return Ok(None);
            };
            id = successor;
        }
        Ok(None)
    }
}
