//! Following an invitation: as somebody new, or as whoever is signed in.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::api_key::Digest;
use domain::id::{OrganizationId, PersonId};
use domain::person::{Email, Role, check_password};
use domain::time::Timestamp;
use domain::token::Token;
use http::StatusCode;
use serde::Deserialize;
use store::control::audit::Author;
use store::control::organization;
use store::control::pass::{self, Joining, Purpose, Used};
use store::control::person::{self, NewPerson};

use crate::assets;
use crate::no::No;
use crate::page::{show, show_with};
use crate::people::password;
use crate::people::sign_in;
use crate::seat::Visitor;
use crate::state::Desk;

#[derive(Debug, Template)]
#[template(path = "invitation.html")]
struct Invitation<'a> {
    theme: &'static str,
    pass: &'a str,
    organization: String,
    role: Role,
    email: &'a str,
    name: &'a str,
    /// Somebody with this address is there: their password is asked for.
    is_known: bool,
    has_house: bool,
    wrong: Option<String>,
}

struct Offer {
    digest: Digest,
    organization: OrganizationId,
    role: Role,
    email: Email,
    is_known: bool,
}

async fn offer(desk: &Desk, text: &str, now: Timestamp) -> Result<Offer, No> {
    let gone = || {
        No::Invalid(
            "This invitation was used, withdrawn, or is too old. Ask for a new one.".to_owned(),
        )
    };
    let token = Token::parse(text).ok_or_else(gone)?;
    let found = pass::find(&desk.control, token.digest(), now).await?;
    let Some(Purpose::Invitation {
        organization,
        role,
        email,
    }) = found.map(|pass| pass.purpose)
    else {
        return Err(gone());
    };
    let email: Email = email.parse().map_err(|_| gone())?;
    Ok(Offer {
        digest: token.digest(),
        organization,
        role,
        is_known: person::lock(&desk.control, &email).await?.is_some(),
        email,
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct Given {
    pass: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
}

async fn ask(
    desk: &Desk,
    visitor: &Visitor,
    offer: &Offer,
    given: &Given,
    wrong: Option<String>,
) -> Result<Response, No> {
    let of = organization::find(&desk.control, offer.organization).await?;
    let status = if wrong.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    let page = Invitation {
        theme: visitor.theme,
        pass: &given.pass,
        organization: of.map(|of| of.name).unwrap_or_default(),
        role: offer.role,
        email: offer.email.as_str(),
        name: &given.name,
        is_known: offer.is_known,
        has_house: desk.house.is_some(),
        wrong,
    };
    Ok(if status == StatusCode::OK {
        show(&page)
    } else {
        show_with(status, &page)
    })
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(given): Query<Given>,
) -> Result<Response, No> {
    let offer = offer(&desk, &given.pass, desk.clock.now()).await?;
    ask(&desk, &visitor, &offer, &given, None).await
}

pub(crate) async fn join(
    State(desk): State<Desk>,
    visitor: Visitor,
    Form(given): Form<Given>,
) -> Result<Response, No> {
    let now = desk.clock.now();
    let offer = offer(&desk, &given.pass, now).await?;
    let by = |person: PersonId| Author {
        person: Some(person),
        who: offer.email.as_str().to_owned(),
        address: Some(visitor.address.clone()),
    };
    let who = if let Some(lock) = person::lock(&desk.control, &offer.email).await? {
        if !password::fits(&desk, given.password.clone(), lock.password).await? {
            let wrong = Some("This is not your password.".to_owned());
            return ask(&desk, &visitor, &offer, &given, wrong).await;
        }
        let known = Joining::Known(lock.person.id);
        join_as(&desk, offer.digest, known, &by(lock.person.id), now).await?;
        lock.person
    } else {
        if let Err(wrong) = check(&given) {
            return ask(&desk, &visitor, &offer, &given, Some(wrong)).await;
        }
        let berth = offer.organization.berth();
        let new = NewPerson {
            id: PersonId::new(now, berth, rand::random()),
            name: given.name.trim().to_owned(),
            email: offer.email.clone(),
            password: Some(password::hash(&desk, given.password.clone()).await?),
            is_operator: false,
        };
        join_as(&desk, offer.digest, Joining::New(&new), &by(new.id), now).await?;
        person::find(&desk.control, new.id)
            .await?
            .ok_or(No::NotFound)?
    };
    sign_in::begin(&desk, &who, &visitor, "/dashboard", now).await
}

fn check(given: &Given) -> Result<(), String> {
    check_password(&given.password).map_err(|wrong| format!("{wrong}."))?;
    let length = given.name.trim().chars().count();
    if (1..=200).contains(&length) {
        Ok(())
    } else {
        Err("A name has 1 to 200 characters.".to_owned())
    }
}

async fn join_as(
    desk: &Desk,
    digest: Digest,
    who: Joining<'_>,
    by: &Author,
    now: Timestamp,
) -> Result<(), No> {
    match pass::join(&desk.control, digest, who, by, now).await? {
        Used::For(_) => Ok(()),
        Used::NoLonger => Err(No::NotFound),
    }
}
