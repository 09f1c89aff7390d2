//! Members of an organization, and invitations.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::id::{OneTimeLinkId, OrganizationId, PersonId};
use domain::person::{Email, Role};
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use serde::Deserialize;
use store::control::member::{self, Member, MemberChangeResult};
use store::control::one_time_link::{self, LinkPurpose, OneTimeLink};

use crate::access::{ClientInfo, OrganizationAccess};
use crate::issued_link::IssuedLink;
use crate::page::{PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

const INVITATION_TTL: TimeDelta = TimeDelta::days(7);

#[derive(Debug, Template)]
#[template(path = "members.html")]
struct MembersPage {
    page: PageLayout,
    organization: OrganizationId,
    members: Vec<Member>,
    invitations: Vec<(OneTimeLinkId, String, Role, Timestamp)>,
    link: Option<IssuedLink>,
}

async fn render_members(
    state: &DashboardState,
    within: &OrganizationAccess,
    client: &ClientInfo,
    link: Option<IssuedLink>,
) -> Result<Response, PageError> {
    let organization = within.scope.organization;
    let now = state.clock.now();
    Ok(render_page(&MembersPage {
        page: PageLayout::for_organization("Members", within, client),
        organization,
        members: member::list(&state.control, organization).await?,
        invitations: one_time_link::list_invitations(&state.control, organization, now).await?,
        link,
    }))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    render_members(&state, &within, &client, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct InviteForm {
    email: String,
    role: String,
}

pub(crate) async fn invite(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
    Form(invite): Form<InviteForm>,
) -> Result<Response, PageError> {
    let email: Email = invite
        .email
        .parse()
        .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))?;
    let role: Role = invite
        .role
        .parse()
        .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))?;
    let (now, signed_in) = (state.clock.now(), &within.access.signed_in);
    let token = SecretToken::from_random(rand::random());
    let offered = OneTimeLink {
        id: OneTimeLinkId::new(now, within.scope.berth, rand::random()),
        purpose: LinkPurpose::Invitation {
            organization: within.scope.organization,
            role,
            email: email.as_str().to_owned(),
        },
        created_by: Some(signed_in.person.id),
        created_at: now,
        expires_at: now + INVITATION_TTL,
    };
    one_time_link::create(&state.control, token.digest(), &offered, &signed_in.actor()).await?;
    let (at, token) = (&state.options.public_url, token.reveal());
    let link = IssuedLink {
        email: email.as_str().to_owned(),
        url: format!("{at}/dashboard/invitation?pass={token}"),
    };
    render_members(&state, &within, &client, Some(link)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct RevokeInvitationForm {
    id: String,
}

pub(crate) async fn revoke_invitation(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(RevokeInvitationForm { id }): Form<RevokeInvitationForm>,
) -> Result<Response, PageError> {
    let id: OneTimeLinkId = id.parse().map_err(|_| PageError::NotFound)?;
    let (organization, now) = (within.scope.organization, state.clock.now());
    let by = within.access.signed_in.actor();
    if !one_time_link::withdraw_invitation(&state.control, organization, id, &by, now).await? {
        return Err(PageError::NotFound);
    }
    Ok(redirect_to_members(organization))
}

#[derive(Debug, Deserialize)]
pub(crate) struct MemberChangeForm {
    person: String,
    role: String,
}

pub(crate) async fn change_role(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(wanted): Form<MemberChangeForm>,
) -> Result<Response, PageError> {
    let person: PersonId = wanted.person.parse().map_err(|_| PageError::NotFound)?;
    let role = match wanted.role.as_str() {
        "none" => None,
        role => Some(
            role.parse()
                .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))?,
        ),
    };
    let (organization, now) = (within.scope.organization, state.clock.now());
    let by = within.access.signed_in.actor();
    match member::change(&state.control, organization, person, role, &by, now).await? {
        MemberChangeResult::Changed => Ok(redirect_to_members(organization)),
        MemberChangeResult::NoSuchMember => Err(PageError::NotFound),
        MemberChangeResult::LastOwner => Err(PageError::Invalid(
            "An organization needs an owner. Make another member an owner first.".to_owned(),
        )),
    }
}

fn redirect_to_members(organization: OrganizationId) -> Response {
    Redirect::to(&format!("/dashboard/organization/{organization}/members")).into_response()
}
