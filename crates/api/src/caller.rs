//! The authenticated caller of a request. Every check, limit and row uses it.

use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::organization::Plan;
use store::control::api_key::ApiKeyPrincipal;

/// A project, its organization, and the API key of the request.
///
/// There are two ways to get one: from an API key that was authenticated, or from
/// a part of this program that calls the API for a signed-in person and has
/// checked who that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub plan: Plan,
    pub berth: Berth,
}

impl Caller {
    /// For in-process requests. In the extensions of a request it replaces the API key.
    pub const fn on_behalf_of(
        organization: OrganizationId,
        project: ProjectId,
        key: ApiKeyId,
        plan: Plan,
        berth: Berth,
    ) -> Self {
        Self {
            organization,
            project,
            key,
            plan,
            berth,
        }
    }

    pub(crate) const fn from_principal(holder: &ApiKeyPrincipal) -> Self {
        Self {
            organization: holder.organization,
            project: holder.project,
            key: holder.key,
            plan: holder.plan,
            berth: holder.berth,
        }
    }
}
