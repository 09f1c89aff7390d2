//! The first start: whoever can read the log becomes the first operator.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::api_key::Digest;
use domain::id::{Berth, PassId, PersonId};
use domain::person::{Email, check_password};
use domain::project::Slug;
use domain::time::Timestamp;
use domain::token::Token;
use http::StatusCode;
use serde::Deserialize;
use store::Control;
use store::control::audit::Author;
use store::control::pass::{self, Pass, Purpose, Used};
use store::control::person::{self, NewPerson};

use crate::assets;
use crate::no::No;
use crate::page::{show, show_with};
use crate::people::organizations;
use crate::people::password;
use crate::people::sign_in;
use crate::seat::Visitor;
use crate::state::Desk;

const GOOD_FOR: TimeDelta = TimeDelta::hours(24);

/// A link for the first start, when nobody is there yet.
pub async fn offer(
    control: &Control,
    public_url: &str,
    now: Timestamp,
) -> Result<Option<String>, store::Error> {
    if person::any(control).await? {
        return Ok(None);
    }
    let token = Token::of(rand::random());
    let Some(berth) = Berth::new(0) else {
        return Ok(None);
    };
    let offered = Pass {
        id: PassId::new(now, berth, rand::random()),
        purpose: Purpose::Setup,
        made_by: None,
        created_at: now,
        expires_at: now + GOOD_FOR,
    };
    pass::create(control, token.digest(), &offered, &Author::console()).await?;
    Ok(Some(format!(
        "{public_url}/dashboard/setup?pass={}",
        token.reveal()
    )))
}

#[derive(Debug, Template)]
#[template(path = "setup.html")]
struct Setup<'a> {
    theme: &'static str,
    given: &'a Given,
    wrong: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Given {
    pass: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    organization: String,
    #[serde(default)]
    project: String,
}

async fn good(desk: &Desk, text: &str, now: Timestamp) -> Result<Digest, No> {
    let token = Token::parse(text).ok_or(No::NotFound)?;
    let found = pass::find(&desk.control, token.digest(), now).await?;
    match found.map(|pass| pass.purpose) {
        Some(Purpose::Setup) if !person::any(&desk.control).await? => Ok(token.digest()),
        Some(_) | None => Err(No::Invalid(
            "This link was used, or is too old. The server prints a new one when it starts, \
             as long as nobody is there."
                .to_owned(),
        )),
    }
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(given): Query<Given>,
) -> Result<Response, No> {
    good(&desk, &given.pass, desk.clock.now()).await?;
    Ok(show(&Setup {
        theme: visitor.theme,
        given: &Given {
            pass: given.pass.clone(),
            ..Given::default()
        },
        wrong: None,
    }))
}

/// What the form says, read.
struct Wanted {
    email: Email,
    slug: Slug,
}

fn read(given: &Given) -> Result<Wanted, String> {
    check_password(&given.password).map_err(|wrong| format!("{wrong}."))?;
    for (what, text) in [("name", &given.name), ("organization", &given.organization)] {
        if !(1..=200).contains(&text.trim().chars().count()) {
            return Err(format!("The {what} has 1 to 200 characters."));
        }
    }
    Ok(Wanted {
        email: given.email.parse().map_err(|wrong| format!("{wrong}."))?,
        slug: given.project.parse().map_err(|wrong| format!("{wrong}."))?,
    })
}

pub(crate) async fn set_up(
    State(desk): State<Desk>,
    visitor: Visitor,
    Form(given): Form<Given>,
) -> Result<Response, No> {
    let now = desk.clock.now();
    let digest = good(&desk, &given.pass, now).await?;
    let wanted = match read(&given) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            let again = Setup {
                theme: visitor.theme,
                given: &given,
                wrong: Some(wrong),
            };
            return Ok(show_with(StatusCode::UNPROCESSABLE_ENTITY, &again));
        }
    };
    let berth = Berth::new(0).ok_or(No::NotFound)?;
    let first = NewPerson {
        id: PersonId::new(now, berth, rand::random()),
        name: given.name.trim().to_owned(),
        email: wanted.email,
        password: Some(password::hash(&desk, given.password.clone()).await?),
        is_operator: true,
    };
    let by = Author {
        person: Some(first.id),
        who: first.email.as_str().to_owned(),
        address: Some(visitor.address.clone()),
    };
    if pass::set_up(&desk.control, digest, &first, &by, now).await? == Used::NoLonger {
        return Err(No::NotFound);
    }
    let plan = desk.options.first_plan;
    let made = organizations::make(&desk, given.organization.trim(), plan, &by, now).await?;
    organizations::own(&desk, &made, first.id, &by, now).await?;
    let slug = organizations::make_project(&desk, &made, wanted.slug, &by, now).await;
    let person = person::find(&desk.control, first.id)
        .await?
        .ok_or(No::NotFound)?;
    let next = slug.map_or_else(
        |_| "/dashboard/organizations".to_owned(),
        |slug| format!("/dashboard/project/{slug}"),
    );
    sign_in::begin(&desk, &person, &visitor, &next, now).await
}
