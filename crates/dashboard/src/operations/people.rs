//! All users: deactivate, activate, grant the operator role, create password reset links.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::id::{OneTimeLinkId, PersonId};
use domain::secret_token::SecretToken;
use serde::Deserialize;
use store::control::one_time_link::{self, LinkPurpose, OneTimeLink};
use store::control::person;
use store::view::people::{self, PersonSummary};

use crate::access::{Access, Authenticated, ClientInfo};
use crate::issued_link::IssuedLink;
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

const PAGE_SIZE: usize = 100;
const RESET_LINK_TTL: TimeDelta = TimeDelta::hours(24);

#[derive(Debug, Template)]
#[template(path = "operations_people.html")]
struct PeoplePage {
    page: PageLayout,
    people: Vec<PersonSummary>,
    is_older_page: bool,
    older: Option<PersonId>,
    link: Option<IssuedLink>,
    has_passwords: bool,
}

impl PeoplePage {
    fn is_me(&self, person: &PersonSummary) -> bool {
        self.page.access.signed_in.person.id == person.id
    }
}

async fn render_people(
    state: &DashboardState,
    access: &Arc<Access>,
    client: &ClientInfo,
    before: Option<PersonId>,
    link: Option<IssuedLink>,
) -> Result<Response, PageError> {
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let mut people = people::list(&state.control, before, limit).await?;
    let more = people.len() > PAGE_SIZE;
    people.truncate(PAGE_SIZE);
    Ok(render_page(&PeoplePage {
        page: PageLayout::new("People", NavItem::Operations, access, client),
        older: people.last().map(|person| person.id).filter(|_| more),
        people,
        is_older_page: before.is_some(),
        link,
        has_passwords: !state.options.sign_in.is_sso_only,
    }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct PeopleQuery {
    #[serde(default)]
    before: String,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Query(PeopleQuery { before }): Query<PeopleQuery>,
) -> Result<Response, PageError> {
    render_people(&state, &access, &client, before.parse().ok(), None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct PersonChangeForm {
    person: String,
    /// The new value.
    to: bool,
}

/// Rejects the user's own account, so that operators cannot lock themselves out.
fn parse_other_person(access: &Access, text: &str) -> Result<PersonId, PageError> {
    let id: PersonId = text.parse().map_err(|_| PageError::NotFound)?;
    if id == access.signed_in.person.id {
        let text = "You cannot change your own account here. Ask another operator, \
            or use longshored admin person.";
        return Err(PageError::Invalid(text.to_owned()));
    }
    Ok(id)
}

fn redirect_to_people() -> Response {
    Redirect::to("/dashboard/operations/people").into_response()
}

pub(crate) async fn set_active(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(change): Form<PersonChangeForm>,
) -> Result<Response, PageError> {
    let (id, by) = (
        parse_other_person(&access, &change.person)?,
        access.signed_in.actor(),
    );
    let changed = person::set_active(&state.control, id, change.to, &by, state.clock.now()).await?;
    changed.ok_or(PageError::NotFound)?;
    Ok(redirect_to_people())
}

pub(crate) async fn set_operator(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(change): Form<PersonChangeForm>,
) -> Result<Response, PageError> {
    let (id, by) = (
        parse_other_person(&access, &change.person)?,
        access.signed_in.actor(),
    );
    let now = state.clock.now();
    let changed = person::set_operator(&state.control, id, change.to, &by, now).await?;
    changed.ok_or(PageError::NotFound)?;
    Ok(redirect_to_people())
}

#[derive(Debug, Deserialize)]
pub(crate) struct ResetLinkForm {
    person: String,
}

/// Creates a password reset link.
pub(crate) async fn create_reset_link(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Form(ResetLinkForm { person }): Form<ResetLinkForm>,
) -> Result<Response, PageError> {
    if state.options.sign_in.is_sso_only {
        return Err(PageError::Forbidden(
            "Passwords are disabled here. Operators sign in without single sign-on by a link of \
             longshored admin person link.",
        ));
    }
    let id: PersonId = person.parse().map_err(|_| PageError::NotFound)?;
    let found = person::find(&state.control, id).await?;
    let found = found.ok_or(PageError::NotFound)?;
    let (now, signed_in) = (state.clock.now(), &access.signed_in);
    let token = SecretToken::from_random(rand::random());
    let offered = OneTimeLink {
        id: OneTimeLinkId::new(now, found.id.berth(), rand::random()),
        purpose: LinkPurpose::PasswordReset { person: found.id },
        created_by: Some(signed_in.person.id),
        created_at: now,
        expires_at: now + RESET_LINK_TTL,
    };
    one_time_link::create(&state.control, token.digest(), &offered, &signed_in.actor()).await?;
    let at = &state.options.public_url;
    let link = IssuedLink {
        email: found.email,
        url: format!("{at}/dashboard/reset?pass={}", token.reveal()),
    };
    render_people(&state, &access, &client, None, Some(link)).await
}
