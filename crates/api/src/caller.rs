//! The authenticated caller of a request. Every check, limit and row uses it.

use std::sync::Arc;

use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::key_scope::{KeyScope, KeyScopeRefusal};
use domain::key_spending::SpendingCap;
use domain::organization::Plan;
use store::control::api_key::ApiKeyPrincipal;

/// A project, its organization, and the API key of the request.
///
/// There are two ways to get one: from an API key that was authenticated, or from
/// a part of this program that calls the API for a signed-in person and has
/// checked who that is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub plan: Plan,
    pub berth: Berth,
    /// None if the key is unrestricted, or a person calls.
    scope: Option<Arc<KeyScope>>,
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
            scope: None,
        }
    }

    pub(crate) fn from_principal(holder: &ApiKeyPrincipal) -> Self {
        Self {
            organization: holder.organization,
            project: holder.project,
            key: holder.key,
            plan: holder.plan,
            berth: holder.berth,
            scope: holder.scope.clone(),
        }
    }

    /// The same caller with the scope of its key.
    #[must_use]
    pub(crate) fn with_scope(self, scope: KeyScope) -> Self {
        Self {
            scope: Some(Arc::new(scope)),
            ..self
        }
    }

    pub(crate) fn scope(&self) -> Option<&KeyScope> {
        self.scope.as_deref()
    }

    /// Whether the key may load cargo of this model.
    pub(crate) fn check_model(&self, model: &str) -> Result<(), KeyScopeRefusal> {
        self.scope()
            .map_or(Ok(()), |scope| scope.allows_model(model))
    }

    pub(crate) fn spending_cap(&self) -> Option<SpendingCap> {
        self.scope()?.spending_cap
    }
}
