//! Signing in and out. Whether an address is known is never told, nor shown by the time taken.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::api_key::Digest;
use domain::id::{Berth, SessionId};
use domain::person::Email;
use domain::time::Timestamp;
use domain::token::Token;
use http::StatusCode;
use http::header::SET_COOKIE;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use store::control::audit::Author;
use store::control::person::{self, Person};
use store::control::session::{self, NewSession};
use store::control::throttle;

use crate::assets;
use crate::cookie;
use crate::no::No;
use crate::page::{show, show_with};
use crate::people::password;
use crate::seat::{Seated, Visitor};
use crate::state::Desk;

/// So many failures of one address, and from one host, cost nothing.
const FREE_OF_ADDRESS: u32 = 5;
const FREE_OF_HOST: u32 = 50;

#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    theme: &'static str,
    next: &'a str,
    email: &'a str,
    wrong: bool,
    /// Whether one can sign in at another house instead.
    has_house: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(Next { next }): Query<Next>,
) -> Response {
    show(&SignIn {
        theme: visitor.theme,
        next: &next,
        email: "",
        wrong: false,
        has_house: desk.house.is_some(),
    })
}

#[derive(Deserialize)]
pub(crate) struct Given {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

pub(crate) async fn sign_in(
    State(desk): State<Desk>,
    visitor: Visitor,
    Form(given): Form<Given>,
) -> Result<Response, No> {
    let now = desk.clock.now();
    let subjects = [
        subject("address", &given.email.trim().to_lowercase()),
        subject("host", &visitor.address),
    ];
    let blocked = throttle::blocked_until(&desk.control, &subjects, now).await?;
    if let Some(until) = blocked {
        let seconds = (until - now).num_seconds() + 1;
        return Err(No::TooMany { seconds });
    }
    let Some(person) = known(&desk, &given).await? else {
        let [address, host] = subjects;
        throttle::fail(&desk.control, address, FREE_OF_ADDRESS, now).await?;
        throttle::fail(&desk.control, host, FREE_OF_HOST, now).await?;
        let again = SignIn {
            theme: visitor.theme,
            next: &given.next,
            email: &given.email,
            wrong: true,
            has_house: desk.house.is_some(),
        };
        return Ok(show_with(StatusCode::UNAUTHORIZED, &again));
    };
    let [address, _] = subjects;
    throttle::forget(&desk.control, address).await?;
    begin(&desk, &person, &visitor, &given.next, now).await
}

async fn known(desk: &Desk, given: &Given) -> Result<Option<Person>, No> {
    let lock = match given.email.parse::<Email>() {
        Ok(email) => person::lock(&desk.control, &email).await?,
        Err(_) => None,
    };
    let (person, lock) = lock.map_or((None, None), |lock| (Some(lock.person), lock.password));
    let fits = password::fits(desk, given.password.clone(), lock).await?;
    Ok(person.filter(|person| fits && person.is_active))
}

/// A new session for somebody who has proved who they are; what the browser had before counts for nothing.
pub(crate) async fn begin(
    desk: &Desk,
    person: &Person,
    visitor: &Visitor,
    next: &str,
    now: Timestamp,
) -> Result<Response, No> {
    let token = Token::of(rand::random());
    // People are in control, which has no berths.
    let berth = Berth::new(0).ok_or(No::NotFound)?;
    let new = NewSession {
        digest: token.digest(),
        id: SessionId::new(now, berth, rand::random()),
        person: person.id,
        address: &visitor.address,
        agent: &visitor.agent,
    };
    let by = Author {
        person: Some(person.id),
        who: person.email.clone(),
        address: Some(visitor.address.clone()),
    };
    session::begin(&desk.control, &new, &by, now).await?;
    let cookie = cookie::begin(&token, &desk.options).ok_or(No::NotFound)?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to(within(next))).into_response())
}

/// Nobody is sent to another house by a link to ours.
fn within(next: &str) -> &str {
    let is_ours = next.starts_with("/dashboard") && !next.contains(['\\', '\n', '\r']);
    if is_ours { next } else { "/dashboard" }
}

pub(crate) async fn sign_out(
    State(desk): State<Desk>,
    Seated(seat): Seated,
) -> Result<Response, No> {
    let guest = &seat.guest;
    let (which, now) = (Some(guest.session), desk.clock.now());
    session::end(&desk.control, guest.person.id, which, &guest.author(), now).await?;
    let cookie = cookie::end(&desk.options).ok_or(No::NotFound)?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/dashboard/sign-in")).into_response())
}

fn subject(kind: &str, value: &str) -> Digest {
    Digest(Sha256::digest(format!("{kind} {value}").as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        assert_eq!(
            within("/dashboard/project/x?a=b"),
            "/dashboard/project/x?a=b"
        );
        for bad in [
            "",
            "https://evil.example",
            "//evil.example",
            "/dashboard\\@evil",
            "/files",
        ] {
            assert_eq!(within(bad), "/dashboard", "{bad}");
        }
    }
}
