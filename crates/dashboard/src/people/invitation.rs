//! Accepting an invitation, as a new or an existing user.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::api_key::SecretDigest;
use domain::id::{OrganizationId, PersonId};
use domain::person::{Email, Role, check_password};
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;
use store::control::audit_log::Actor;
use store::control::one_time_link::{self, Invitee, LinkPurpose, LinkRedemption};
use store::control::organization;
use store::control::person::{self, NewPerson};

use crate::access::ClientInfo;
use crate::assets;
use crate::page::{render_page, render_page_with_status};
use crate::page_error::PageError;
use crate::people::password;
use crate::people::sign_in;
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
    /// A user with this address exists, so the page asks for their password.
    has_account: bool,
    has_sso: bool,
    error: Option<String>,
}

struct InvitationDetails {
    digest: SecretDigest,
    organization: OrganizationId,
    role: Role,
    email: Email,
    has_account: bool,
}

async fn find_invitation(
    state: &DashboardState,
    text: &str,
    now: Timestamp,
) -> Result<InvitationDetails, PageError> {
    let invalid = || {
        PageError::Invalid(
            "This invitation was used, revoked or has expired. Ask for a new one.".to_owned(),
        )
    };
    let token = SecretToken::parse(text).ok_or_else(invalid)?;
    let found = one_time_link::find(&state.control, token.digest(), now).await?;
    let Some(LinkPurpose::Invitation {
        organization,
        role,
        email,
    }) = found.map(|pass| pass.purpose)
    else {
        return Err(invalid());
    };
    let email: Email = email.parse().map_err(|_| invalid())?;
    Ok(InvitationDetails {
        digest: token.digest(),
        organization,
        role,
        has_account: person::find_credentials(&state.control, &email)
            .await?
            .is_some(),
        email,
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct InvitationForm {
    pass: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
}

async fn render_invitation(
    state: &DashboardState,
    client: &ClientInfo,
    offer: &InvitationDetails,
    given: &InvitationForm,
    wrong: Option<String>,
) -> Result<Response, PageError> {
    let of = organization::find(&state.control, offer.organization).await?;
    let status = if wrong.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    let page = InvitationPage {
        theme: client.theme,
        pass: &given.pass,
        organization: of.map(|of| of.name).unwrap_or_default(),
        role: offer.role,
        email: offer.email.as_str(),
        name: &given.name,
        has_account: offer.has_account,
        has_sso: state.identity_provider.is_some(),
        error: wrong,
    };
    Ok(if status == StatusCode::OK {
        render_page(&page)
    } else {
        render_page_with_status(status, &page)
    })
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Query(given): Query<InvitationForm>,
) -> Result<Response, PageError> {
    let offer = find_invitation(&state, &given.pass, state.clock.now()).await?;
    render_invitation(&state, &client, &offer, &given, None).await
}

pub(crate) async fn accept(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Form(given): Form<InvitationForm>,
) -> Result<Response, PageError> {
    let now = state.clock.now();
    let offer = find_invitation(&state, &given.pass, now).await?;
    let by = |person: PersonId| Actor {
        person: Some(person),
        name: offer.email.as_str().to_owned(),
        address: Some(client.address.clone()),
    };
    let person =
        if let Some(credentials) = person::find_credentials(&state.control, &offer.email).await? {
            if !password::verify(&state, given.password.clone(), credentials.password).await? {
                let wrong = Some("Wrong password.".to_owned());
                return render_invitation(&state, &client, &offer, &given, wrong).await;
            }
            let known = Invitee::Existing(credentials.person.id);
            accept_as(&state, offer.digest, known, &by(credentials.person.id), now).await?;
            credentials.person
        } else {
            if let Err(wrong) = check_form(&given) {
                return render_invitation(&state, &client, &offer, &given, Some(wrong)).await;
            }
            let berth = offer.organization.berth();
            let new = NewPerson {
                id: PersonId::new(now, berth, rand::random()),
                name: given.name.trim().to_owned(),
                email: offer.email.clone(),
                password: Some(password::hash(&state, given.password.clone()).await?),
                is_operator: false,
            };
            accept_as(&state, offer.digest, Invitee::New(&new), &by(new.id), now).await?;
            person::find(&state.control, new.id)
                .await?
                .ok_or(PageError::NotFound)?
        };
    sign_in::start_session(&state, &person, &client, "/dashboard", now).await
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

async fn accept_as(
    state: &DashboardState,
    digest: SecretDigest,
    who: Invitee<'_>,
    by: &Actor,
    now: Timestamp,
) -> Result<(), PageError> {
    match one_time_link::redeem_invitation(&state.control, digest, who, by, now).await? {
        LinkRedemption::Redeemed(_) => Ok(()),
        LinkRedemption::Invalid => Err(PageError::NotFound),
    }
}
