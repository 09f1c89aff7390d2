//! Who sends a request, and their access: organization, project and role.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::api_key::SecretDigest;
use domain::forwarded_for::ClientAddress;
use domain::id::{ApiKeyId, Berth, OrganizationId, PersonId, ProjectId, SessionId};
use domain::organization::Plan;
use domain::person::Role;
use domain::time::Timestamp;
use http::header::USER_AGENT;
use http::request::Parts;
use store::Shard;
use store::control::audit_log::Actor;
use store::control::membership::{ScopeChoice, ScopeProject};
use store::control::person::Person;

use crate::cookie;
use crate::live_streams::LiveRefresh;
use crate::page_error::PageError;
use crate::state::{CallerIdentity, DashboardState};

/// The client of a request: IP address, user agent, theme.
#[derive(Debug, Clone)]
pub(crate) struct ClientInfo {
    pub(crate) address: String,
    pub(crate) user_agent: String,
    pub(crate) theme: &'static str,
    /// The server renders a live page again, which its person has opened before.
    pub(crate) is_refresh: bool,
}

impl ClientInfo {
    /// Who makes a change from this client, for the audit log.
    pub(crate) fn actor(&self, person: Option<PersonId>, name: &str) -> Actor {
        Actor {
            person,
            name: name.to_owned(),
            address: Some(self.address.clone()),
            user_agent: Some(self.user_agent.clone()),
        }
    }
}

/// A user with a valid session.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) person: Person,
    pub(crate) session: SessionId,
    /// The CSRF token of their forms.
    pub(crate) csrf_token: String,
    pub(crate) digest: SecretDigest,
    pub(crate) client: ClientInfo,
    /// When they last entered a password or a code.
    pub(crate) proved_at: Timestamp,
    pub(crate) has_second_factor: bool,
}

impl SignedIn {
    pub(crate) fn actor(&self) -> Actor {
        self.client.actor(Some(self.person.id), &self.person.email)
    }
}

/// A signed-in user and the scope that the gate granted.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) signed_in: SignedIn,
    pub(crate) scope: Option<PageScope>,
    pub(crate) choices: Vec<ScopeChoice>,
}

#[derive(Debug, Clone)]
pub(crate) struct PageScope {
    pub(crate) organization: OrganizationId,
    pub(crate) organization_name: String,
    pub(crate) plan: Plan,
    pub(crate) berth: Berth,
    pub(crate) role: Role,
    /// False for an operator who belongs to another organization.
    pub(crate) is_member: bool,
    pub(crate) shard: Arc<Shard>,
    pub(crate) project: Option<ScopeProject>,
    pub(crate) requires_second_factor: bool,
}

/// Access to an organization.
#[derive(Debug, Clone)]
pub(crate) struct OrganizationAccess {
    pub(crate) access: Arc<Access>,
    pub(crate) scope: PageScope,
}

/// Access to a project.
#[derive(Debug, Clone)]
pub(crate) struct ProjectAccess {
    pub(crate) access: Arc<Access>,
    pub(crate) scope: PageScope,
    pub(crate) project: ScopeProject,
}

impl ProjectAccess {
    pub(crate) fn id(&self) -> ProjectId {
        self.project.id
    }

    pub(crate) fn shard(&self) -> &Arc<Shard> {
        &self.scope.shard
    }

    pub(crate) fn actor(&self) -> Actor {
        self.access.signed_in.actor()
    }

    /// The caller for in-process API calls.
    pub(crate) fn caller_identity(&self) -> CallerIdentity {
        CallerIdentity {
            organization: self.scope.organization,
            project: self.project.id,
            key: ApiKeyId::from_uuid(self.project.id.uuid()),
            plan: self.scope.plan,
            berth: self.scope.berth,
        }
    }
}

fn granted_access(parts: &Parts) -> Result<Arc<Access>, PageError> {
    parts
        .extensions
        .get::<Arc<Access>>()
        .cloned()
        .ok_or(PageError::NotFound)
}

impl FromRequestParts<DashboardState> for ClientInfo {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, Infallible> {
        let address = parts.extensions.get::<ClientAddress>();
        let agent = parts.headers.get(USER_AGENT);
        let agent = agent.and_then(|value| value.to_str().ok());
        Ok(Self {
            address: address.map_or_else(|| "unknown".to_owned(), |it| it.0.to_string()),
            user_agent: agent.unwrap_or("unknown").chars().take(200).collect(),
            theme: cookie::read_theme(&parts.headers),
            is_refresh: parts.extensions.get::<LiveRefresh>().is_some(),
        })
    }
}

/// The user who opens a public page, if they are signed in.
#[derive(Debug, Clone)]
pub(crate) struct Visitor(pub(crate) Option<SignedIn>);

impl FromRequestParts<DashboardState> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, PageError> {
        let visitor = parts.extensions.get::<Self>().cloned();
        visitor.ok_or(PageError::NotFound)
    }
}

/// Access of any signed-in user, inside or outside an organization.
#[derive(Debug, Clone)]
pub(crate) struct Authenticated(pub(crate) Arc<Access>);

impl FromRequestParts<DashboardState> for Authenticated {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, PageError> {
        granted_access(parts).map(Self)
    }
}

impl FromRequestParts<DashboardState> for OrganizationAccess {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, PageError> {
        let access = granted_access(parts)?;
        let scope = access.scope.clone().ok_or(PageError::NotFound)?;
        Ok(Self { access, scope })
    }
}

impl FromRequestParts<DashboardState> for ProjectAccess {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, PageError> {
        let access = granted_access(parts)?;
        let scope = access.scope.clone().ok_or(PageError::NotFound)?;
        let project = scope.project.clone().ok_or(PageError::NotFound)?;
        Ok(Self {
            access,
            scope,
            project,
        })
    }
}
