//! A new password, by a link that an operator made at the console.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::person::check_password;
use domain::token::Token;
use http::StatusCode;
use serde::Deserialize;
use store::control::audit::Author;
use store::control::pass::{self, Purpose};
use store::control::person;

use crate::assets;
use crate::no::No;
use crate::page::{show, show_with};
use crate::people::password;
use crate::people::sign_in;
use crate::seat::Visitor;
use crate::state::Desk;

#[derive(Debug, Template)]
#[template(path = "reset.html")]
struct Reset<'a> {
    theme: &'static str,
    pass: &'a str,
    wrong: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Given {
    pass: String,
    #[serde(default)]
    password: String,
}

fn gone() -> No {
    No::Invalid("This link was used, or is too old. Ask for a new one.".to_owned())
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(given): Query<Given>,
) -> Result<Response, No> {
    let token = Token::parse(&given.pass).ok_or_else(gone)?;
    let found = pass::find(&desk.control, token.digest(), desk.clock.now()).await?;
    if !matches!(found.map(|pass| pass.purpose), Some(Purpose::Reset { .. })) {
        return Err(gone());
    }
    Ok(show(&Reset {
        theme: visitor.theme,
        pass: &given.pass,
        wrong: None,
    }))
}

pub(crate) async fn reset(
    State(desk): State<Desk>,
    visitor: Visitor,
    Form(given): Form<Given>,
) -> Result<Response, No> {
    if let Err(wrong) = check_password(&given.password) {
        let again = Reset {
            theme: visitor.theme,
            pass: &given.pass,
            wrong: Some(format!("{wrong}.")),
        };
        return Ok(show_with(StatusCode::UNPROCESSABLE_ENTITY, &again));
    }
    let now = desk.clock.now();
    let token = Token::parse(&given.pass).ok_or_else(gone)?;
    let hash = password::hash(&desk, given.password.clone()).await?;
    let Some(Purpose::Reset { person }) = pass::spend(&desk.control, token.digest(), now).await?
    else {
        return Err(gone());
    };
    let who = person::find(&desk.control, person)
        .await?
        .ok_or_else(gone)?;
    let by = Author {
        person: Some(who.id),
        who: who.email.clone(),
        address: Some(visitor.address.clone()),
    };
    person::set_password(&desk.control, who.id, &hash, None, &by, now).await?;
    sign_in::begin(&desk, &who, &visitor, "/dashboard", now).await
}
