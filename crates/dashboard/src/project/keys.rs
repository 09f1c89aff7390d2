//! A project's API keys: create, rotate, deactivate. A key is shown once.

mod new_key;

use std::collections::HashMap;

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{NaiveTime, TimeDelta};
use domain::account::first_day_of_month;
use domain::api_key::ApiKey as SecretKey;
use domain::id::ApiKeyId;
use domain::key_scope::KeyScope;
use domain::key_spending::KeySpending;
use domain::money::Money;
use domain::time::Timestamp;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Deserialize;
use store::Shard;
use store::control::api_key::{self, ApiKeyRow};
use store::control::key_policy;
use store::shard::key_spending;
use store::view::usage;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::keys::new_key::NewKeyForm;
use crate::state::DashboardState;
use crate::text;

/// Keys on the page.
const MAX_KEYS: u32 = 500;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    page: PageLayout,
    keys: Vec<ApiKeyRow>,
    /// None while the shard is unavailable.
    spending: Option<MonthlySpending>,
    /// The organization's longest lifetime of a key, in days.
    max_key_days: Option<i32>,
    now: Timestamp,
    /// The new key, shown once.
    created_key: Option<CreatedKey>,
}

/// What the keys of a project spent this month.
struct MonthlySpending {
    /// By the key under which the cap counts.
    capped: HashMap<ApiKeyId, KeySpending>,
    charged: HashMap<ApiKeyId, Money>,
}

impl MonthlySpending {
    async fn read(
        shard: &Shard,
        within: &ProjectAccess,
        keys: &[ApiKeyRow],
        now: Timestamp,
    ) -> Result<Self, store::Error> {
        let month = first_day_of_month(now);
        let capped = keys.iter().filter_map(|key| key.scope.spending_cap);
        let capped: Vec<ApiKeyId> = capped.map(|cap| cap.key).collect();
        let rows = if capped.is_empty() {
            Vec::new()
        } else {
            key_spending::list(shard, &capped, month).await?
        };
        let since = month.and_time(NaiveTime::MIN).and_utc();
        let charged = usage::sum_charges_by_key(shard, within.id(), since).await?;
        Ok(Self {
            capped: rows.into_iter().map(|row| (row.key, row)).collect(),
            charged: charged.into_iter().collect(),
        })
    }
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

    /// `$1.00 of $5.00, $0.2 held`, or what was charged if there is no cap.
    fn spent(&self, key: &ApiKeyRow) -> String {
        let Some(spending) = &self.spending else {
            return "unknown".to_owned();
        };
        let Some(cap) = key.scope.spending_cap else {
            let charged = spending.charged.get(&key.id);
            return text::money(charged.copied().unwrap_or_default());
        };
        let row = spending.capped.get(&cap.key);
        let (spent, held) = row.map_or_else(Default::default, |row| (row.spent, row.held));
        let (spent, cap) = (text::money(spent), text::money(cap.monthly));
        if held.is_zero() {
            format!("{spent} of {cap}")
        } else {
            format!("{spent} of {cap}, {} held", text::money(held))
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
    let now = state.clock.now();
    // Keys can be managed also while the shard is unavailable.
    let spending = MonthlySpending::read(within.shard(), within, &keys, now).await;
    let organization = within.scope.organization;
    Ok(render_page(&KeysPage {
        page: PageLayout::for_project("API keys", NavItem::Keys, within, client),
        keys,
        spending: spending.ok(),
        max_key_days: key_policy::find_max_key_days(&state.control, organization).await?,
        now,
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
        last_used_address: None,
        created_at: now,
        successor: None,
        scope: KeyScope::default(),
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
    let (mut key, secret) = generate_key(&within, &new.name, new.expires_at(now)?, now)?;
    key.scope = new.scope(key.id, &state.catalogue.borrow())?;
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
    let (mut new, secret) = generate_key(&within, &old.name, old.expires_at, now)?;
    new.scope = old.scope;
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
