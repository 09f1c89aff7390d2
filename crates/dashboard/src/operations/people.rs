//! Everybody who may sign in: shut out, let in again, given the service to run, helped with a password.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::id::{PassId, PersonId};
use domain::token::Token;
use serde::Deserialize;
use store::control::pass::{self, Pass, Purpose};
use store::control::person;
use store::view::people::{self, Someone};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{Seat, Seated, Visitor};
use crate::state::Desk;
use crate::text;

const PAGE: usize = 100;
const GOOD_FOR: TimeDelta = TimeDelta::hours(24);

#[derive(Debug, Template)]
#[template(path = "operations_people.html")]
struct People {
    page: Page,
    everybody: Vec<Someone>,
    is_later: bool,
    older: Option<PersonId>,
    /// Shown this once: whose it is, and the link.
    link: Option<(String, String)>,
}

impl People {
    fn is_me(&self, person: &Someone) -> bool {
        self.page.seat.guest.person.id == person.id
    }
}

async fn everybody(
    desk: &Desk,
    seat: &Arc<Seat>,
    visitor: &Visitor,
    before: Option<PersonId>,
    link: Option<(String, String)>,
) -> Result<Response, No> {
    let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let mut people = people::page(&desk.control, before, limit).await?;
    let more = people.len() > PAGE;
    people.truncate(PAGE);
    Ok(show(&People {
        page: Page::new("People", Here::Operations, seat, visitor),
        older: people.last().map(|person| person.id).filter(|_| more),
        everybody: people,
        is_later: before.is_some(),
        link,
    }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    #[serde(default)]
    before: String,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    everybody(&desk, &seat, &visitor, before.parse().ok(), None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    person: String,
    /// Whether it is to be so.
    to: bool,
}

/// Somebody else: nobody locks themselves out.
fn other(seat: &Seat, text: &str) -> Result<PersonId, No> {
    let id: PersonId = text.parse().map_err(|_| No::NotFound)?;
    if id == seat.guest.person.id {
        let text = "That is you. Ask another operator, or use longshored admin person.";
        return Err(No::Invalid(text.to_owned()));
    }
    Ok(id)
}

fn back() -> Response {
    Redirect::to("/dashboard/operations/people").into_response()
}

pub(crate) async fn set_active(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(change): Form<Change>,
) -> Result<Response, No> {
    let (id, by) = (other(&seat, &change.person)?, seat.guest.author());
    let changed = person::set_active(&desk.control, id, change.to, &by, desk.clock.now()).await?;
    changed.ok_or(No::NotFound)?;
    Ok(back())
}

pub(crate) async fn set_operator(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(change): Form<Change>,
) -> Result<Response, No> {
    let (id, by) = (other(&seat, &change.person)?, seat.guest.author());
    let changed = person::set_operator(&desk.control, id, change.to, &by, desk.clock.now()).await?;
    changed.ok_or(No::NotFound)?;
    Ok(back())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Whose {
    person: String,
}

/// A link by which somebody sets a new password.
pub(crate) async fn link(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
    Form(Whose { person }): Form<Whose>,
) -> Result<Response, No> {
    let id: PersonId = person.parse().map_err(|_| No::NotFound)?;
    let found = person::find(&desk.control, id).await?;
    let found = found.ok_or(No::NotFound)?;
    let (now, guest) = (desk.clock.now(), &seat.guest);
    let token = Token::of(rand::random());
    let offered = Pass {
        id: PassId::new(now, found.id.berth(), rand::random()),
        purpose: Purpose::Reset { person: found.id },
        made_by: Some(guest.person.id),
        created_at: now,
        expires_at: now + GOOD_FOR,
    };
    pass::create(&desk.control, token.digest(), &offered, &guest.author()).await?;
    let at = &desk.options.public_url;
    let link = format!("{at}/dashboard/reset?pass={}", token.reveal());
    everybody(&desk, &seat, &visitor, None, Some((found.email, link))).await
}
