//! Members of an organization, and who is invited.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::id::{OrganizationId, PassId, PersonId};
use domain::person::{Email, Role};
use domain::time::Timestamp;
use domain::token::Token;
use serde::Deserialize;
use store::control::member::{self, Change, Member};
use store::control::pass::{self, Pass, Purpose};

use crate::no::No;
use crate::page::{Page, show};
use crate::seat::{InOrganization, Visitor};
use crate::state::Desk;
use crate::text;

const GOOD_FOR: TimeDelta = TimeDelta::days(7);

#[derive(Debug, Template)]
#[template(path = "members.html")]
struct Team {
    page: Page,
    organization: OrganizationId,
    members: Vec<Member>,
    invitations: Vec<(PassId, String, Role, Timestamp)>,
    /// Shown once, to whoever made it.
    link: Option<(String, String)>,
}

async fn members(
    desk: &Desk,
    within: &InOrganization,
    visitor: &Visitor,
    link: Option<(String, String)>,
) -> Result<Response, No> {
    let organization = within.place.organization;
    let now = desk.clock.now();
    Ok(show(&Team {
        page: Page::of_organization("Members", within, visitor),
        organization,
        members: member::list(&desk.control, organization).await?,
        invitations: pass::invitations(&desk.control, organization, now).await?,
        link,
    }))
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
) -> Result<Response, No> {
    members(&desk, &within, &visitor, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Invite {
    email: String,
    role: String,
}

pub(crate) async fn invite(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
    Form(invite): Form<Invite>,
) -> Result<Response, No> {
    let email: Email = invite
        .email
        .parse()
        .map_err(|wrong| No::Invalid(format!("{wrong}.")))?;
    let role: Role = invite
        .role
        .parse()
        .map_err(|wrong| No::Invalid(format!("{wrong}.")))?;
    let (now, guest) = (desk.clock.now(), &within.seat.guest);
    let token = Token::of(rand::random());
    let offered = Pass {
        id: PassId::new(now, within.place.berth, rand::random()),
        purpose: Purpose::Invitation {
            organization: within.place.organization,
            role,
            email: email.as_str().to_owned(),
        },
        made_by: Some(guest.person.id),
        created_at: now,
        expires_at: now + GOOD_FOR,
    };
    pass::create(&desk.control, token.digest(), &offered, &guest.author()).await?;
    let (at, token) = (&desk.options.public_url, token.reveal());
    let link = format!("{at}/dashboard/invitation?pass={token}");
    members(
        &desk,
        &within,
        &visitor,
        Some((email.as_str().to_owned(), link)),
    )
    .await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Withdraw {
    id: String,
}

pub(crate) async fn withdraw(
    State(desk): State<Desk>,
    within: InOrganization,
    Form(Withdraw { id }): Form<Withdraw>,
) -> Result<Response, No> {
    let id: PassId = id.parse().map_err(|_| No::NotFound)?;
    let (organization, now) = (within.place.organization, desk.clock.now());
    let by = within.seat.guest.author();
    if !pass::withdraw(&desk.control, organization, id, &by, now).await? {
        return Err(No::NotFound);
    }
    Ok(back(organization))
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChangeMember {
    person: String,
    role: String,
}

pub(crate) async fn change(
    State(desk): State<Desk>,
    within: InOrganization,
    Form(wanted): Form<ChangeMember>,
) -> Result<Response, No> {
    let person: PersonId = wanted.person.parse().map_err(|_| No::NotFound)?;
    let role = match wanted.role.as_str() {
        "none" => None,
        role => Some(
            role.parse()
                .map_err(|wrong| No::Invalid(format!("{wrong}.")))?,
        ),
    };
    let (organization, now) = (within.place.organization, desk.clock.now());
    let by = within.seat.guest.author();
    match member::change(&desk.control, organization, person, role, &by, now).await? {
        Change::Made => Ok(back(organization)),
        Change::NoSuchMember => Err(No::NotFound),
        Change::LastOwner => Err(No::Invalid(
            "This is the last owner. Make somebody else an owner first.".to_owned(),
        )),
    }
}

fn back(organization: OrganizationId) -> Response {
    Redirect::to(&format!("/dashboard/organization/{organization}/members")).into_response()
}
