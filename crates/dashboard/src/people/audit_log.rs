//! The audit log of an organization, and the tokens that read it over HTTP.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::audit_token::AuditToken;
use domain::id::{AuditTokenId, OrganizationId};
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use store::control::audit_log::{self, AuditLogEntry};
use store::control::audit_token::{self, AuditTokenRow};

use crate::access::{ClientInfo, OrganizationAccess};
use crate::page::{PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

const PAGE_SIZE: usize = 100;

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    page: PageLayout,
    organization: OrganizationId,
    entries: Vec<AuditLogEntry>,
    older: Option<i64>,
    tokens: Vec<AuditTokenRow>,
    created_token: Option<CreatedToken>,
}

/// The new token, shown once.
struct CreatedToken {
    name: String,
    token: String,
    url: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AuditQuery {
    pub(crate) before: Option<i64>,
}

/// A page of the log of one or all organizations, and the cursor of the next page.
pub(crate) async fn read_audit_page(
    state: &DashboardState,
    organization: Option<OrganizationId>,
    before: Option<i64>,
) -> Result<(Vec<AuditLogEntry>, Option<i64>), PageError> {
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let mut entries = audit_log::list(&state.control, organization, before, limit).await?;
    let more = entries.len() > PAGE_SIZE;
    entries.truncate(PAGE_SIZE);
    let older = entries.last().map(|entry| entry.id).filter(|_| more);
    Ok((entries, older))
}

async fn render_audit(
    state: &DashboardState,
    within: &OrganizationAccess,
    client: &ClientInfo,
    before: Option<i64>,
    created_token: Option<CreatedToken>,
) -> Result<Response, PageError> {
    let organization = within.scope.organization;
    let (entries, older) = read_audit_page(state, Some(organization), before).await?;
    Ok(render_page(&AuditPage {
        page: PageLayout::for_organization("Audit log", within, client),
        organization,
        entries,
        older,
        tokens: audit_token::list(&state.control, Some(organization)).await?,
        created_token,
    }))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
    Query(AuditQuery { before }): Query<AuditQuery>,
) -> Result<Response, PageError> {
    render_audit(&state, &within, &client, before, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewTokenForm {
    name: String,
}

pub(crate) async fn create_token(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
    Form(NewTokenForm { name }): Form<NewTokenForm>,
) -> Result<Response, PageError> {
    let (scope, now) = (&within.scope, state.clock.now());
    let name = name.trim();
    if !(1..=200).contains(&name.chars().count()) {
        let text = "Enter a name of 1 to 200 characters.";
        return Err(PageError::Invalid(text.to_owned()));
    }
    let mut random = [0; 128];
    let filled = SysRng.try_fill_bytes(&mut random).ok();
    let token = filled.and_then(|()| AuditToken::generate(random));
    let token = token.ok_or_else(|| {
        PageError::Invalid("The token could not be created. Try again.".to_owned())
    })?;
    let row = AuditTokenRow {
        id: AuditTokenId::new(now, scope.berth, rand::random()),
        organization: Some(scope.organization),
        name: name.to_owned(),
        prefix: token.display_prefix().to_owned(),
        last_used_at: None,
        created_at: now,
    };
    let by = within.access.signed_in.actor();
    audit_token::create(&state.control, &row, token.digest(), &by).await?;
    let created = CreatedToken {
        name: row.name,
        token: token.reveal().to_owned(),
        url: state.options.public_url.clone(),
    };
    render_audit(&state, &within, &client, None, Some(created)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct RevokeTokenForm {
    token: String,
}

pub(crate) async fn revoke_token(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(RevokeTokenForm { token }): Form<RevokeTokenForm>,
) -> Result<Response, PageError> {
    let id: AuditTokenId = token.parse().map_err(|_| PageError::NotFound)?;
    let (organization, now) = (within.scope.organization, state.clock.now());
    let by = within.access.signed_in.actor();
    let revoked = audit_token::revoke(&state.control, Some(organization), id, &by, now).await?;
    revoked.ok_or(PageError::NotFound)?;
    let path = format!("/dashboard/organization/{organization}/audit");
    Ok(Redirect::to(&path).into_response())
}
