//! One's own account: the password, and where one is signed in.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::SessionId;
use domain::person::{Email, check_password};
use http::StatusCode;
use serde::Deserialize;
use store::control::session::Session;
use store::control::{person, session};

use crate::no::No;
use crate::page::{Here, Page, show_with};
use crate::people::password;
use crate::seat::{Seated, Visitor};
use crate::state::Desk;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "account.html")]
struct Account {
    page: Page,
    sessions: Vec<Session>,
    said: Option<&'static str>,
    wrong: Option<String>,
}

async fn account(
    desk: &Desk,
    seated: &Seated,
    visitor: &Visitor,
    said: Option<&'static str>,
    wrong: Option<String>,
) -> Result<Response, No> {
    let Seated(seat) = seated;
    let person = seat.guest.person.id;
    let status = wrong
        .as_ref()
        .map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
    let page = Account {
        page: Page::new("Account", Here::Account, seat, visitor),
        sessions: session::list(&desk.control, person, desk.clock.now()).await?,
        said,
        wrong,
    };
    Ok(show_with(status, &page))
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    seated: Seated,
    visitor: Visitor,
) -> Result<Response, No> {
    account(&desk, &seated, &visitor, None, None).await
}

#[derive(Deserialize)]
pub(crate) struct NewPassword {
    #[serde(default)]
    current: String,
    password: String,
}

pub(crate) async fn password(
    State(desk): State<Desk>,
    seated: Seated,
    visitor: Visitor,
    Form(new): Form<NewPassword>,
) -> Result<Response, No> {
    let guest = &seated.0.guest;
    if let Err(wrong) = check_password(&new.password) {
        return account(&desk, &seated, &visitor, None, Some(format!("{wrong}."))).await;
    }
    let email: Email = guest.person.email.parse().map_err(|_| No::NotFound)?;
    let lock = person::lock(&desk.control, &email)
        .await?
        .ok_or(No::NotFound)?;
    // Who signs in elsewhere has none yet.
    if lock.password.is_some() && !password::fits(&desk, new.current, lock.password).await? {
        let wrong = Some("The current password is another one.".to_owned());
        return account(&desk, &seated, &visitor, None, wrong).await;
    }
    let hash = password::hash(&desk, new.password).await?;
    let keep = Some(guest.digest.0.as_slice());
    let (by, now) = (guest.author(), desk.clock.now());
    person::set_password(&desk.control, guest.person.id, &hash, keep, &by, now).await?;
    let said = Some("The password is changed, and every other session has ended.");
    account(&desk, &seated, &visitor, said, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    #[serde(default)]
    session: String,
}

/// One session, or all of them.
pub(crate) async fn end(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(Which { session }): Form<Which>,
) -> Result<Response, No> {
    let guest = &seat.guest;
    let which: Option<SessionId> = match session.as_str() {
        "" => None,
        named => Some(named.parse().map_err(|_| No::NotFound)?),
    };
    let (by, now) = (guest.author(), desk.clock.now());
    session::end(&desk.control, guest.person.id, which, &by, now).await?;
    Ok(Redirect::to("/dashboard/account").into_response())
}
