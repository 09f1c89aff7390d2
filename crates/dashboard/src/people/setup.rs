//! Setup: with a one-time link that is never logged, the first operator is created.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::api_key::SecretDigest;
use domain::id::{Berth, OneTimeLinkId, PersonId};
use domain::person::{Email, check_password};
use domain::project::Slug;
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;
use store::Control;
use store::control::audit_log::Actor;
use store::control::one_time_link::{self, LinkPurpose, LinkRedemption, OneTimeLink};
use store::control::person::{self, NewPerson};

use crate::access::ClientInfo;
use crate::assets;
use crate::page::{render_page, render_page_with_status};
use crate::page_error::PageError;
use crate::people::organizations;
use crate::people::password;
use crate::people::session_start::{IdentityProof, start_session};
use crate::state::DashboardState;

const SETUP_LINK_TTL: TimeDelta = TimeDelta::hours(24);

/// Creates the setup link if no user exists yet.
pub async fn offer_setup(
    control: &Control,
    public_url: &str,
    now: Timestamp,
) -> Result<Option<String>, store::Error> {
    if person::any_exists(control).await? {
        return Ok(None);
    }
    let token = SecretToken::from_random(rand::random());
    let Some(berth) = Berth::new(0) else {
        return Ok(None);
    };
    let offered = OneTimeLink {
        id: OneTimeLinkId::new(now, berth, rand::random()),
        purpose: LinkPurpose::Setup,
        created_by: None,
        created_at: now,
        expires_at: now + SETUP_LINK_TTL,
    };
    one_time_link::create(control, token.digest(), &offered, &Actor::console()).await?;
    Ok(Some(format!(
        "{public_url}/dashboard/setup?pass={}",
        token.reveal()
    )))
}

#[derive(Debug, Template)]
#[template(path = "setup.html")]
struct SetupPage<'a> {
    theme: &'static str,
    form: &'a SetupForm,
    has_password: bool,
    error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SetupForm {
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

async fn check_link(
    state: &DashboardState,
    text: &str,
    now: Timestamp,
) -> Result<SecretDigest, PageError> {
    let token = SecretToken::parse(text).ok_or(PageError::NotFound)?;
    let found = one_time_link::find(&state.control, token.digest(), now).await?;
    match found.map(|pass| pass.purpose) {
        Some(LinkPurpose::Setup) if !person::any_exists(&state.control).await? => {
            Ok(token.digest())
        }
        Some(_) | None => Err(PageError::Invalid(
            "This setup link was used or has expired. While no user exists, \
             `longshored admin person setup` prints a new one."
                .to_owned(),
        )),
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Query(given): Query<SetupForm>,
) -> Result<Response, PageError> {
    check_link(&state, &given.pass, state.clock.now()).await?;
    Ok(render_page(&SetupPage {
        theme: client.theme,
        form: &SetupForm {
            pass: given.pass.clone(),
            ..SetupForm::default()
        },
        has_password: !state.options.sign_in.is_sso_only,
        error: None,
    }))
}

/// The parsed form.
struct ParsedSetup {
    email: Email,
    slug: Slug,
}

fn parse_form(given: &SetupForm, has_password: bool) -> Result<ParsedSetup, String> {
    if has_password {
        check_password(&given.password).map_err(|wrong| format!("{wrong}."))?;
    }
    for (field, text) in [
        ("name", &given.name),
        ("organization name", &given.organization),
    ] {
        if !(1..=200).contains(&text.trim().chars().count()) {
            return Err(format!("The {field} must have 1 to 200 characters."));
        }
    }
    Ok(ParsedSetup {
        email: given.email.parse().map_err(|wrong| format!("{wrong}."))?,
        slug: given.project.parse().map_err(|wrong| format!("{wrong}."))?,
    })
}

pub(crate) async fn set_up(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Form(given): Form<SetupForm>,
) -> Result<Response, PageError> {
    let now = state.clock.now();
    let digest = check_link(&state, &given.pass, now).await?;
    let has_password = !state.options.sign_in.is_sso_only;
    let parsed = match parse_form(&given, has_password) {
        Ok(parsed) => parsed,
        Err(error) => {
            let page = SetupPage {
                theme: client.theme,
                form: &given,
                has_password,
                error: Some(error),
            };
            return Ok(render_page_with_status(
                StatusCode::UNPROCESSABLE_ENTITY,
                &page,
            ));
        }
    };
    let berth = Berth::new(0).ok_or(PageError::NotFound)?;
    let password = if has_password {
        Some(password::hash(&state, given.password.clone()).await?)
    } else {
        None
    };
    let first = NewPerson {
        id: PersonId::new(now, berth, rand::random()),
        name: given.name.trim().to_owned(),
        email: parsed.email,
        password,
        is_operator: true,
    };
    let by = client.actor(Some(first.id), first.email.as_str());
    if one_time_link::redeem_setup(&state.control, digest, &first, &by, now).await?
        == LinkRedemption::Invalid
    {
        return Err(PageError::NotFound);
    }
    let plan = state.options.setup_plan;
    let made =
        organizations::create_organization(&state, given.organization.trim(), plan, &by, now)
            .await?;
    organizations::add_owner(&state, &made, first.id, &by, now).await?;
    let slug = organizations::insert_project(&state, &made, parsed.slug, &by, now).await;
    let person = person::find(&state.control, first.id)
        .await?
        .ok_or(PageError::NotFound)?;
    let next = slug.map_or_else(
        |_| "/dashboard/organizations".to_owned(),
        |slug| format!("/dashboard/project/{slug}"),
    );
    let proof = IdentityProof {
        has_second_factor: false,
        at: now,
    };
    start_session(&state, &person, &client, &next, proof, now).await
}
