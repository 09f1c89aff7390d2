//! A project's API keys: create, rotate, deactivate. A key is shown once.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::api_key::ApiKey as SecretKey;
use domain::id::ApiKeyId;
use domain::time::Timestamp;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use store::control::api_key::{self, ApiKeyRow};

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

/// Keys on the page.
const MAX_KEYS: u32 = 500;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    page: PageLayout,
    keys: Vec<ApiKeyRow>,
    now: Timestamp,
    /// The new key, shown once.
    created_key: Option<CreatedKey>,
}

struct CreatedKey {
    name: String,
    key: String,
    url: String,
    /// When the rotated key expires.
    old_key_expires_at: Option<Timestamp>,
}

impl KeysPage {
    fn state(&self, key: &ApiKeyRow) -> (&'static str, &'static str) {
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

    fn is_usable(&self, key: &ApiKeyRow) -> bool {
        key.is_active && key.expires_at.is_none_or(|end| end > self.now)
    }
}

async fn render_keys(
    state: &DashboardState,
    within: &ProjectAccess,
    client: &ClientInfo,
    made: Option<CreatedKey>,
) -> Result<Response, PageError> {
    let mut keys = api_key::list(&state.control, within.id(), None, MAX_KEYS).await?;
    keys.reverse();
    Ok(render_page(&KeysPage {
        page: PageLayout::for_project("API keys", NavItem::Keys, within, client),
        keys,
        now: state.clock.now(),
        created_key: made,
    }))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    render_keys(&state, &within, &client, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewKeyForm {
    name: String,
    /// Days until the key expires; empty for never.
    #[serde(default)]
    days: String,
}

fn generate_key(
    within: &ProjectAccess,
    name: &str,
    ends: Option<Timestamp>,
    now: Timestamp,
) -> Result<(ApiKeyRow, SecretKey), PageError> {
    let name = name.trim();
    if !(1..=200).contains(&name.chars().count()) {
        return Err(PageError::Invalid(
            "Enter a name of 1 to 200 characters.".to_owned(),
        ));
    }
    let mut random = [0; 128];
    let filled = SysRng.try_fill_bytes(&mut random).ok();
    let secret = filled.and_then(|()| SecretKey::generate(random));
    let secret = secret
        .ok_or_else(|| PageError::Invalid("The key could not be created. Try again.".to_owned()))?;
    let key = ApiKeyRow {
        id: ApiKeyId::new(now, within.scope.berth, rand::random()),
        project: within.id(),
        name: name.to_owned(),
        prefix: secret.display_prefix().to_owned(),
        is_active: true,
        expires_at: ends,
        last_used_at: None,
        created_at: now,
        successor: None,
    };
    Ok((key, secret))
}

pub(crate) async fn create(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Form(new): Form<NewKeyForm>,
) -> Result<Response, PageError> {
    let now = state.clock.now();
    let days = match new.days.as_str() {
        "" => None,
        days => Some(
            days.parse::<u16>()
                .map_err(|_| PageError::Invalid("Enter the expiry in whole days.".to_owned()))?,
        ),
    };
    let ends = days.map(|days| now + TimeDelta::days(i64::from(days)));
    let (key, secret) = generate_key(&within, &new.name, ends, now)?;
    api_key::create(&state.control, &key, secret.digest(), &within.actor()).await?;
    let made = CreatedKey {
        name: key.name,
        key: secret.reveal().to_owned(),
        url: state.options.public_url.clone(),
        old_key_expires_at: None,
    };
    render_keys(&state, &within, &client, Some(made)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct RotateKeyForm {
    key: String,
    /// Seconds until the old key expires.
    overlap: String,
}

async fn find_key(
    state: &DashboardState,
    within: &ProjectAccess,
    text: &str,
) -> Result<ApiKeyRow, PageError> {
    let id: ApiKeyId = text.parse().map_err(|_| PageError::NotFound)?;
    let key = api_key::find(&state.control, id).await?;
    key.filter(|key| key.project == within.id())
        .ok_or(PageError::NotFound)
}

pub(crate) async fn rotate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Form(RotateKeyForm { key, overlap }): Form<RotateKeyForm>,
) -> Result<Response, PageError> {
    let seconds = match overlap.as_str() {
        "0" | "3600" | "86400" | "604800" => overlap.parse::<i64>().unwrap_or_default(),
        _ => {
            return Err(PageError::Invalid(
                "Choose when the old key expires.".to_owned(),
            ));
        }
    };
    let (now, old) = (state.clock.now(), find_key(&state, &within, &key).await?);
    if old.expires_at.is_some_and(|end| end <= now) {
        return Err(PageError::Invalid(
            "This key has expired. Create a new key.".to_owned(),
        ));
    }
    // A new secret is no new permission: the key ends when it would have ended.
    let (new, secret) = generate_key(&within, &old.name, old.expires_at, now)?;
    let ends = now + TimeDelta::seconds(seconds);
    let by = within.actor();
    let rotated = api_key::rotate(&state.control, old.id, &new, secret.digest(), ends, &by).await?;
    let old = rotated.ok_or_else(|| {
        PageError::Invalid(
            "This key was already rotated or deactivated. Reload the page.".to_owned(),
        )
    })?;
    let made = CreatedKey {
        name: new.name,
        key: secret.reveal().to_owned(),
        url: state.options.public_url.clone(),
        old_key_expires_at: old.expires_at,
    };
    render_keys(&state, &within, &client, Some(made)).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct KeyForm {
    key: String,
}

pub(crate) async fn activate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(KeyForm { key }): Form<KeyForm>,
) -> Result<Response, PageError> {
    let key = find_key(&state, &within, &key).await?;
    api_key::activate(&state.control, key.id, &within.actor(), state.clock.now()).await?;
    Ok(redirect_to_keys(&within))
}

pub(crate) async fn deactivate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(KeyForm { key }): Form<KeyForm>,
) -> Result<Response, PageError> {
    let key = find_key(&state, &within, &key).await?;
    api_key::deactivate(&state.control, key.id, &within.actor(), state.clock.now()).await?;
    Ok(redirect_to_keys(&within))
}

fn redirect_to_keys(within: &ProjectAccess) -> Response {
    Redirect::to(&format!("/dashboard/project/{}/keys", within.project.slug)).into_response()
}
