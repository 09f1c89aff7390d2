//! Signing in at another house, which vouches for people there.
//!
//! All that a visit needs to come back follows from one random cookie of ten minutes:
//! nothing is kept here, and nobody who lacks the cookie can come back in its place.

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::house::{Stranger, Visit};
use domain::id::{Berth, PersonId};
use domain::person::Email;
use domain::time::Timestamp;
use domain::token::Token;
use http::HeaderMap;
use http::header::SET_COOKIE;
use serde::Deserialize;
use store::control::audit::Author;
use store::control::pass::{self, Joining, Purpose, Used};
use store::control::person::{self, NewPerson, Person};

use crate::cookie;
use crate::no::No;
use crate::people::sign_in;
use crate::seat::Visitor;
use crate::state::Desk;

const BACK: &str = "/dashboard/elsewhere/back";

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Start {
    /// An invitation that is followed on the way.
    #[serde(default)]
    pass: String,
}

fn visit(desk: &Desk, token: &Token) -> Visit {
    Visit {
        back: format!("{}{BACK}", desk.options.public_url),
        state: token.derived("state"),
        nonce: token.derived("nonce"),
        verifier: token.derived("verifier"),
    }
}

pub(crate) async fn start(
    State(desk): State<Desk>,
    Query(Start { pass }): Query<Start>,
) -> Result<Response, No> {
    let house = desk.house.as_ref().ok_or(No::NotFound)?;
    let token = Token::of(rand::random());
    let door = house
        .door(&visit(&desk, &token))
        .await
        .map_err(No::Invalid)?;
    let kept = match Token::parse(&pass) {
        Some(pass) => format!("{}.{}", token.reveal(), pass.reveal()),
        None => token.reveal().to_owned(),
    };
    let cookie = cookie::leave(&kept, &desk.options).ok_or(No::NotFound)?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&door)).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Back {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

pub(crate) async fn back(
    State(desk): State<Desk>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(back): Query<Back>,
) -> Result<Response, No> {
    let house = desk.house.as_ref().ok_or(No::NotFound)?;
    let again =
        || No::Invalid("This sign-in was begun elsewhere or too long ago. Begin again.".to_owned());
    let (token, invited) = cookie::left(&headers).ok_or_else(again)?;
    let visit = visit(&desk, &token);
    if back.state != visit.state {
        return Err(again());
    }
    if !back.error.is_empty() || back.code.is_empty() {
        return Err(No::Invalid(
            "The other house did not let you in.".to_owned(),
        ));
    }
    let now = desk.clock.now();
    let stranger = house
        .who(&back.code, &visit, now)
        .await
        .map_err(No::Invalid)?;
    let person = known(&desk, &visitor, stranger, invited, now).await?;
    let mut response = sign_in::begin(&desk, &person, &visitor, "/dashboard", now).await?;
    if let Some(gone) = cookie::forget(&desk.options) {
        response.headers_mut().append(SET_COOKIE, gone);
    }
    Ok(response)
}

/// Somebody who was here before, whose address we know, or who is invited.
async fn known(
    desk: &Desk,
    visitor: &Visitor,
    stranger: Stranger,
    invited: Option<Token>,
    now: Timestamp,
) -> Result<Person, No> {
    let (issuer, subject) = (&stranger.issuer, &stranger.subject);
    if let Some(person) = person::find_by_identity(&desk.control, issuer, subject).await? {
        return Some(person)
            .filter(|person| person.is_active)
            .ok_or_else(stays_out);
    }
    let email = stranger
        .email
        .as_deref()
        .and_then(|email| email.parse::<Email>().ok());
    let email = email.ok_or_else(|| {
        No::Invalid("The other house does not say that your e-mail address is yours.".to_owned())
    })?;
    let by = |id: PersonId| Author {
        person: Some(id),
        who: email.as_str().to_owned(),
        address: Some(visitor.address.clone()),
    };
    let person = match person::lock(&desk.control, &email).await? {
        Some(lock) if lock.person.is_active => lock.person,
        Some(_) => return Err(stays_out()),
        None => {
            let invited = invited.ok_or_else(stays_out)?;
            join(desk, &stranger, &email, &invited, &by, now).await?
        }
    };
    person::identify(
        &desk.control,
        person.id,
        issuer,
        subject,
        &by(person.id),
        now,
    )
    .await?;
    Ok(person)
}

fn stays_out() -> No {
    No::Invalid(
        "Nobody with your address is here. Ask an owner of your organization for an invitation."
            .to_owned(),
    )
}

/// The invitation must be for the address that the house vouches for.
async fn join(
    desk: &Desk,
    stranger: &Stranger,
    email: &Email,
    invited: &Token,
    by: &(dyn Fn(PersonId) -> Author + Sync),
    now: Timestamp,
) -> Result<Person, No> {
    let found = pass::find(&desk.control, invited.digest(), now).await?;
    let is_meant = matches!(
        found.map(|pass| pass.purpose),
        Some(Purpose::Invitation { email: meant, .. }) if meant.to_lowercase() == email.folded()
    );
    if !is_meant {
        return Err(stays_out());
    }
    let berth = Berth::new(0).ok_or(No::NotFound)?;
    let name = stranger
        .name
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let new = NewPerson {
        id: PersonId::new(now, berth, rand::random()),
        name: name.unwrap_or(email.as_str()).chars().take(200).collect(),
        email: email.clone(),
        password: None,
        is_operator: false,
    };
    let (digest, author) = (invited.digest(), by(new.id));
    match pass::join(&desk.control, digest, Joining::New(&new), &author, now).await? {
        Used::For(_) => person::find(&desk.control, new.id)
            .await?
            .ok_or(No::NotFound),
        Used::NoLonger => Err(stays_out()),
    }
}
