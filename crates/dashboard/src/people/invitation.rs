//! Invitations. A user joins while signed in with the invited address; this page never asks for the
//! password of an existing account, and never says whether one exists.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::api_key::SecretDigest;
use domain::id::{OrganizationId, PersonId};
use domain::person::{Email, Role, check_password};
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;
use store::control::one_time_link::{self, Invitee, LinkPurpose, LinkRedemption};
use store::control::organization;
use store::control::person::{self, NewPerson};

use crate::access::{Authenticated, ClientInfo, SignedIn, Visitor};
use crate::assets;
use crate::page::render_page_with_status;
use crate::page_error::PageError;
use crate::people::password;
use crate::people::session_start::encode;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "invitation.html")]
struct InvitationPage<'a> {
    theme: &'static str,
    pass: &'a str,
    organization: String,
    role: Role,
    email: &'a str,
    name: &'a str,
    visitor: Option<SignedIn>,
    /// Whether the visitor is signed in with the invited address.
    is_invited: bool,
    sign_in_path: String,
    has_password: bool,
    has_sso: bool,
    error: Option<String>,
}

struct InvitationDetails {
    digest: SecretDigest,
    organization: OrganizationId,
    role: Role,
    email: Email,
}

impl InvitationDetails {
    fn is_for(&self, signed_in: &SignedIn) -> bool {
        signed_in.person.email.to_lowercase() == self.email.normalized()
    }
}

async fn find_invitation(
    state: &DashboardState,
    text: &str,
    now: Timestamp,
) -> Result<InvitationDetails, PageError> {
    let token = SecretToken::parse(text).ok_or_else(invalid_link)?;
    let found = one_time_link::find(&state.control, token.digest(), now).await?;
    let Some(LinkPurpose::Invitation {
        organization,
        role,
        email,
    }) = found.map(|pass| pass.purpose)
    else {
        return Err(invalid_link());
    };
    Ok(InvitationDetails {
        digest: token.digest(),
        organization,
        role,
        email: email.parse().map_err(|_| invalid_link())?,
    })
}

fn invalid_link() -> PageError {
    PageError::Invalid(
        "This invitation was used, revoked or has expired. Ask for a new one.".to_owned(),
    )
}

#[derive(Debug, Deserialize)]
pub(crate) struct InvitationForm {
    pass: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
}

/// The path of the page, for a browser that comes back to it after signing in.
pub(crate) fn invitation_path(pass: &str) -> String {
    format!("/dashboard/invitation?pass={pass}")
}

fn sign_in_path(pass: &str) -> String {
    format!("/dashboard/sign-in?next={}", encode(&invitation_path(pass)))
}

async fn render_invitation(
    state: &DashboardState,
    client: &ClientInfo,
    offer: &InvitationDetails,
    visitor: Option<SignedIn>,
    given: &InvitationForm,
    wrong: Option<String>,
) -> Result<Response, PageError> {
    let of = organization::find(&state.control, offer.organization).await?;
    let status = wrong
        .as_ref()
        .map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
    let page = InvitationPage {
        theme: client.theme,
        pass: &given.pass,
        organization: of.map(|of| of.name).unwrap_or_default(),
        role: offer.role,
        email: offer.email.as_str(),
        name: &given.name,
        is_invited: visitor.as_ref().is_some_and(|it| offer.is_for(it)),
        visitor,
        sign_in_path: sign_in_path(&given.pass),
        has_password: !state.options.sign_in.is_sso_only,
        has_sso: state.identity_provider.is_some(),
        error: wrong,
    };
    Ok(render_page_with_status(status, &page))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Visitor(visitor): Visitor,
    Query(given): Query<InvitationForm>,
) -> Result<Response, PageError> {
    let offer = find_invitation(&state, &given.pass, state.clock.now()).await?;
    render_invitation(&state, &client, &offer, visitor, &given, None).await
}

/// Creates an account for the invited address, unless it has one. Both cases get the same answer:
/// the person then signs in, and joins.
pub(crate) async fn create_account(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Visitor(visitor): Visitor,
    Form(given): Form<InvitationForm>,
) -> Result<Response, PageError> {
    password::require_enabled(&state)?;
    let now = state.clock.now();
    let offer = find_invitation(&state, &given.pass, now).await?;
    if let Err(wrong) = check_form(&given) {
        return render_invitation(&state, &client, &offer, visitor, &given, Some(wrong)).await;
    }
    let new = NewPerson {
        id: PersonId::new(now, offer.organization.berth(), rand::random()),
        name: given.name.trim().to_owned(),
        email: offer.email.clone(),
        password: Some(password::hash(&state, given.password.clone()).await?),
        is_operator: false,
    };
    let by = client.actor(Some(new.id), offer.email.as_str());
    match person::create(&state.control, &new, &by, now).await {
        Err(failure) if !failure.is_unique_violation() => return Err(failure.into()),
        Ok(()) | Err(_) => {}
    }
    Ok(Redirect::to(&sign_in_path(&given.pass)).into_response())
}

fn check_form(given: &InvitationForm) -> Result<(), String> {
    check_password(&given.password).map_err(|wrong| format!("{wrong}."))?;
    let length = given.name.trim().chars().count();
    if (1..=200).contains(&length) {
        Ok(())
    } else {
        Err("Enter a name of 1 to 200 characters.".to_owned())
    }
}

/// Adds the signed-in user to the organization, if the invitation is for their address.
pub(crate) async fn join(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(given): Form<InvitationForm>,
) -> Result<Response, PageError> {
    let (now, signed_in) = (state.clock.now(), &access.signed_in);
    let offer = find_invitation(&state, &given.pass, now).await?;
    if !offer.is_for(signed_in) {
        return Err(PageError::Forbidden(
            "This invitation is for another e-mail address. Sign in with that address to join.",
        ));
    }
    let (who, by) = (Invitee::Existing(signed_in.person.id), signed_in.actor());
    match one_time_link::redeem_invitation(&state.control, offer.digest, who, &by, now).await? {
        LinkRedemption::Redeemed(_) => Ok(Redirect::to("/dashboard").into_response()),
        LinkRedemption::Invalid => Err(invalid_link()),
    }
}
