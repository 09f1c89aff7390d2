//! Access control: one middleware checks session, role and CSRF token before every handler.

use std::sync::Arc;

use axum::extract::FromRequestParts as _;
use axum::extract::{Path, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use chrono::TimeDelta;
use domain::authentication_flag::AuthenticationFlag;
use domain::person::Role;
use http::header::REFERER;
use http::{HeaderMap, Method};
use store::control::membership::{self, Scope};
use store::control::session;

use crate::access::{Access, ClientInfo, PageScope, SignedIn, Visitor};
use crate::cookie;
use crate::csrf;
use crate::live_streams::LiveRefresh;
use crate::page_error::PageError;
use crate::state::{DashboardState, SecondFactorPolicy};

/// The access that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredAccess {
    /// Everyone, without signing in.
    Public,
    /// Any signed-in user.
    AnyUser,
    /// Operators of the service.
    Operator,
    /// At least this role in the organization in the path, `{organization}`.
    Organization(Role),
    /// At least this role in the organization that owns the project in the path, `{project}`.
    Project(Role),
}

/// How many projects the project switcher lists.
const MAX_SWITCHER_PROJECTS: u32 = 200;

/// How long a password or a code counts as entered just now.
const MAX_PROOF_AGE: TimeDelta = TimeDelta::minutes(10);

pub(crate) async fn enforce(
    State((state, (needs, needs_recent_proof))): State<(DashboardState, (RequiredAccess, bool))>,
    request: Request,
    next: Next,
) -> Response {
    match authorize(&state, needs, needs_recent_proof, request).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn authorize(
    state: &DashboardState,
    needs: RequiredAccess,
    needs_recent_proof: bool,
    request: Request,
) -> Result<Request, PageError> {
    let changes = *request.method() != Method::GET;
    if changes && !is_same_origin(request.headers(), &state.options.public_url) {
        return Err(PageError::CsrfMismatch);
    }
    let (mut parts, body) = request.into_parts();
    let Ok(client) = ClientInfo::from_request_parts(&mut parts, state).await;
    let signed_in = find_signed_in(state, &parts.headers, &client).await?;
    if let Some(signed_in) = &signed_in {
        if let Some(flag) = parts.extensions.get::<AuthenticationFlag>() {
            flag.set();
        }
        // Live pages have limits of their own.
        if parts.extensions.get::<LiveRefresh>().is_none() {
            count_request(state, signed_in)?;
        }
    }
    let access = if needs == RequiredAccess::Public {
        parts.extensions.insert(Visitor(signed_in));
        None
    } else {
        let next = (!changes).then(|| parts.uri.to_string());
        let signed_in = signed_in.ok_or(PageError::NotSignedIn { next })?;
        let named = Path::<Vec<(String, String)>>::from_request_parts(&mut parts, &()).await;
        let named = named.map(|Path(named)| named).unwrap_or_default();
        Some(grant_access(state, needs, signed_in, &named).await?)
    };
    let mut request = Request::from_parts(parts, body);
    if let Some(access) = access.as_ref().filter(|_| changes) {
        request = csrf::verify_csrf(request, &access.signed_in.csrf_token).await?;
        if needs_recent_proof && access.signed_in.proved_at + MAX_PROOF_AGE <= state.clock.now() {
            let next = referring_page(request.headers(), &state.options.public_url);
            return Err(PageError::ProofTooOld { next });
        }
    }
    if let Some(access) = access {
        request.extensions_mut().insert(access);
    }
    Ok(request)
}

/// Rejects requests that a browser sends from another site's page.
fn is_same_origin(headers: &HeaderMap, public_url: &str) -> bool {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (value("sec-fetch-site"), value("origin"), value("host")) {
        (Some(site), _, _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin), Some(host)) => {
            origin == public_url || origin.split_once("://").is_some_and(|(_, of)| of == host)
        }
        // Not a browser: no ambient cookie, so no CSRF risk.
        (None, Some(_), None) | (None, None, _) => value("origin").is_none(),
    }
}

/// The path of our page that holds the form, to which the person returns.
fn referring_page(headers: &HeaderMap, public_url: &str) -> String {
    let referer = headers.get(REFERER).and_then(|value| value.to_str().ok());
    let path = referer.and_then(|referer| referer.strip_prefix(public_url));
    path.unwrap_or("/dashboard").to_owned()
}

async fn find_signed_in(
    state: &DashboardState,
    headers: &HeaderMap,
    client: &ClientInfo,
) -> Result<Option<SignedIn>, PageError> {
    let Some(token) = cookie::read_session(headers, &state.options) else {
        return Ok(None);
    };
    let (lifetime, now) = (state.options.sign_in.session_lifetime, state.clock.now());
    let found = session::find(&state.control, token.digest(), lifetime, now).await?;
    Ok(found.map(|found| SignedIn {
        person: found.person,
        session: found.id,
        csrf_token: token.csrf_token(),
        digest: token.digest(),
        client: client.clone(),
        proved_at: found.proved_at,
        has_second_factor: found.has_second_factor,
    }))
}

/// Stops loops, far above what a person's browser sends.
fn count_request(state: &DashboardState, signed_in: &SignedIn) -> Result<(), PageError> {
    let now = state.clock.now().timestamp_micros();
    let counted = state.request_buckets.take(signed_in.person.id, now);
    counted.map_err(|exceeded| PageError::RateLimited {
        what: "requests",
        seconds: i64::try_from(exceeded.retry_after_seconds).unwrap_or(i64::MAX),
    })
}

async fn grant_access(
    state: &DashboardState,
    needs: RequiredAccess,
    signed_in: SignedIn,
    named: &[(String, String)],
) -> Result<Arc<Access>, PageError> {
    let person = signed_in.person.id;
    let part = |name: &str| {
        let found = named.iter().find(|(part, _)| part == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let (scope, least) = match needs {
        RequiredAccess::Public | RequiredAccess::AnyUser => (None, Role::Viewer),
        RequiredAccess::Operator if signed_in.person.is_operator => (None, Role::Viewer),
        RequiredAccess::Operator => return Err(PageError::NotFound),
        RequiredAccess::Organization(least) => {
            let id = part("organization")
                .parse()
                .map_err(|_| PageError::NotFound)?;
            let scope = membership::find_in_organization(&state.control, person, id).await?;
            (Some(scope.ok_or(PageError::NotFound)?), least)
        }
        RequiredAccess::Project(least) => {
            let slug = part("project").parse().map_err(|_| PageError::NotFound)?;
            let scope = membership::find_in_project(&state.control, person, &slug).await?;
            (Some(scope.ok_or(PageError::NotFound)?), least)
        }
    };
    let scope = scope
        .map(|scope| check_role(state, &signed_in, scope, least))
        .transpose()?;
    check_second_factor(state, needs, &signed_in, scope.as_ref())?;
    let is_operator = signed_in.person.is_operator;
    let choices =
        membership::list_choices(&state.control, person, is_operator, MAX_SWITCHER_PROJECTS)
            .await?;
    Ok(Arc::new(Access {
        signed_in,
        scope,
        choices,
    }))
}

/// Pages of the person alone stay open, so that they can turn the second factor on.
fn check_second_factor(
    state: &DashboardState,
    needs: RequiredAccess,
    signed_in: &SignedIn,
    scope: Option<&PageScope>,
) -> Result<(), PageError> {
    let is_required = match state.options.sign_in.second_factor {
        SecondFactorPolicy::Optional => false,
        SecondFactorPolicy::Operators => signed_in.person.is_operator,
        SecondFactorPolicy::Everyone => true,
    };
    let is_required = is_required || scope.is_some_and(|scope| scope.requires_second_factor);
    let is_personal = matches!(needs, RequiredAccess::Public | RequiredAccess::AnyUser);
    if is_required && !is_personal && !signed_in.has_second_factor {
        return Err(PageError::NoSecondFactor);
    }
    Ok(())
}

/// Non-members get 404, so that they do not learn whether the organization exists.
fn check_role(
    state: &DashboardState,
    signed_in: &SignedIn,
    scope: Scope,
    least: Role,
) -> Result<PageScope, PageError> {
    let operator = signed_in.person.is_operator.then_some(Role::Owner);
    let is_member = scope.role.is_some();
    let role = operator.or(scope.role).ok_or(PageError::NotFound)?;
    if role < least {
        return Err(PageError::Forbidden(match least {
            Role::Viewer | Role::Developer => {
                "You need the developer role. Ask an owner of the organization to change your role."
            }
            Role::Owner => "You need the owner role in this organization.",
        }));
    }
    let shard = state
        .shard(&scope.shard)
        .cloned()
        .ok_or(PageError::NotFound)?;
    Ok(PageScope {
        organization: scope.organization,
        organization_name: scope.organization_name,
        plan: scope.plan,
        berth: scope.berth,
        project: scope.project,
        requires_second_factor: scope.requires_second_factor,
        role,
        is_member,
        shard,
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_same_origin_requests_may_change_data() {
        let ours = "https://dash.example";
        let from = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            is_same_origin(&headers, ours)
        };
        assert!(from(&[("sec-fetch-site", "same-origin")]));
        assert!(!from(&[("sec-fetch-site", "same-site")]));
        assert!(!from(&[("sec-fetch-site", "cross-site"), ("origin", ours)]));
        assert!(from(&[
            ("origin", "https://dash.example"),
            ("host", "internal:8080")
        ]));
        assert!(from(&[
            ("origin", "http://127.0.0.1:8080"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(!from(&[
            ("origin", "https://evil.example"),
            ("host", "dash.example")
        ]));
        assert!(!from(&[("origin", "null"), ("host", "dash.example")]));
        assert!(from(&[("host", "dash.example")]));
    }
}
