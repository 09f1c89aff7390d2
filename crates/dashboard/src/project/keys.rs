//! A project's keys: made, rotated and ended here, shown once.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::api_key::ApiKey as Drawn;
use domain::id::KeyId;
use domain::time::Timestamp;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use store::control::api_key::{self, ApiKey};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text;

/// All that a page shows; who has more should deactivate some.
const MOST: u32 = 500;

#[derive(Template)]
#[template(path = "keys.html")]
struct Board {
    page: Page,
    keys: Vec<ApiKey>,
    now: Timestamp,
    /// Shown this once: the name, the key, and where to send it.
    made: Option<Made>,
}

struct Made {
    name: String,
    key: String,
    url: String,
    /// Until when the one that it replaces goes on.
    old_ends: Option<Timestamp>,
}

impl Board {
    fn state(&self, key: &ApiKey) -> (&'static str, &'static str) {
        if !key.is_active {
            ("calm", "deactivated")
        } else if key.expires_at.is_some_and(|end| end <= self.now) {
            ("calm", "expired")
        } else if key.successor.is_some() {
            ("warm", "replaced")
        } else {
            ("good", "active")
        }
    }

    fn is_usable(&self, key: &ApiKey) -> bool {
        key.is_active && key.expires_at.is_none_or(|end| end > self.now)
    }
}

async fn keys(
    desk: &Desk,
    within: &InProject,
    visitor: &Visitor,
    made: Option<Made>,
) -> Result<Response, No> {
    let mut keys = api_key::page(&desk.control, within.id(), None, MOST).await?;
    keys.reverse();
    Ok(show(&Board {
        page: Page::of_project("Keys", Here::Keys, within, visitor),
        keys,
        now: desk.clock.now(),
        made,
    }))
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
) -> Result<Response, No> {
    keys(&desk, &within, &visitor, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewKey {
    name: String,
    /// Days; nothing where it never ends.
    #[serde(default)]
    days: String,
}

fn draw(
    within: &InProject,
    name: &str,
    ends: Option<Timestamp>,
    now: Timestamp,
) -> Result<(ApiKey, Drawn), No> {
    let name = name.trim();
    if !(1..=200).contains(&name.chars().count()) {
        return Err(No::Invalid(
            "A key's name has 1 to 200 characters.".to_owned(),
        ));
    }
    let mut random = [0; 128];
    let filled = SysRng.try_fill_bytes(&mut random).ok();
    let drawn = filled.and_then(|()| Drawn::draw(random));
    let drawn =
        drawn.ok_or_else(|| No::Invalid("No key could be drawn. Please try again.".to_owned()))?;
    let key = ApiKey {
        id: KeyId::new(now, within.place.berth, rand::random()),
        project: within.id(),
        name: name.to_owned(),
        prefix: drawn.shown().to_owned(),
        is_active: true,
        expires_at: ends,
        last_used_at: None,
        created_at: now,
        successor: None,
    };
    Ok((key, drawn))
}

pub(crate) async fn create(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Form(new): Form<NewKey>,
) -> Result<Response, No> {
    let now = desk.clock.now();
    let days = match new.days.as_str() {
        "" => None,
        days => Some(
            days.parse::<u16>()
                .map_err(|_| No::Invalid("A key ends after whole days.".to_owned()))?,
        ),
    };
    let ends = days.map(|days| now + TimeDelta::days(i64::from(days)));
    let (key, drawn) = draw(&within, &new.name, ends, now)?;
    api_key::create(&desk.control, &key, drawn.digest(), &within.author()).await?;
    let made = Made {
        name: key.name,
        key: drawn.reveal().to_owned(),
        url: desk.options.public_url.clone(),
        old_ends: None,
    };
    keys(&desk, &within, &visitor, Some(made)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rotate {
    key: String,
    /// For how many seconds the old one goes on.
    overlap: String,
}

async fn own(desk: &Desk, within: &InProject, text: &str) -> Result<ApiKey, No> {
    let id: KeyId = text.parse().map_err(|_| No::NotFound)?;
    let key = api_key::find(&desk.control, id).await?;
    key.filter(|key| key.project == within.id())
        .ok_or(No::NotFound)
}

pub(crate) async fn rotate(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Form(Rotate { key, overlap }): Form<Rotate>,
) -> Result<Response, No> {
    let seconds = match overlap.as_str() {
        "0" | "3600" | "86400" | "604800" => overlap.parse::<i64>().unwrap_or_default(),
        _ => {
            return Err(No::Invalid(
                "Choose for how long the old key goes on.".to_owned(),
            ));
        }
    };
    let (now, old) = (desk.clock.now(), own(&desk, &within, &key).await?);
    let (new, drawn) = draw(&within, &old.name, None, now)?;
    let ends = now + TimeDelta::seconds(seconds);
    let by = within.author();
    let rotated = api_key::rotate(&desk.control, old.id, &new, drawn.digest(), ends, &by).await?;
    let old = rotated.ok_or_else(|| {
        No::Invalid("This key was replaced or deactivated in the meantime.".to_owned())
    })?;
    let made = Made {
        name: new.name,
        key: drawn.reveal().to_owned(),
        url: desk.options.public_url.clone(),
        old_ends: old.expires_at,
    };
    keys(&desk, &within, &visitor, Some(made)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    key: String,
}

pub(crate) async fn activate(
    State(desk): State<Desk>,
    within: InProject,
    Form(Which { key }): Form<Which>,
) -> Result<Response, No> {
    let key = own(&desk, &within, &key).await?;
    api_key::activate(&desk.control, key.id, &within.author(), desk.clock.now()).await?;
    Ok(back(&within))
}

pub(crate) async fn deactivate(
    State(desk): State<Desk>,
    within: InProject,
    Form(Which { key }): Form<Which>,
) -> Result<Response, No> {
    let key = own(&desk, &within, &key).await?;
    api_key::deactivate(&desk.control, key.id, &within.author(), desk.clock.now()).await?;
    Ok(back(&within))
}

fn back(within: &InProject) -> Response {
    Redirect::to(&format!("/dashboard/project/{}/keys", within.project.slug)).into_response()
}
