//! Organizations and their projects. Operators create organizations, owners create projects.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::{OrganizationId, PersonId, ProjectId};
use domain::organization::Plan;
use domain::person::Role;
use domain::project::Slug;
use domain::time::Timestamp;
use serde::Deserialize;
use store::control::audit_log::Actor;
use store::control::key_policy;
use store::control::organization::{self, Organization};
use store::control::project::{self, Project};
use store::control::{berth, member};
use store::shard::account;

use crate::access::{Authenticated, ClientInfo, OrganizationAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "organizations.html")]
struct OrganizationsPage {
    page: PageLayout,
    organizations: Vec<(OrganizationId, String, Vec<String>)>,
}

pub(crate) async fn list(Authenticated(access): Authenticated, client: ClientInfo) -> Response {
    let mut organizations: Vec<(OrganizationId, String, Vec<String>)> = Vec::new();
    for choice in &access.choices {
        let slug = choice.slug.clone();
        match organizations.last_mut() {
            Some((id, _, slugs)) if *id == choice.organization => slugs.extend(slug),
            _ => organizations.push((
                choice.organization,
                choice.organization_name.clone(),
                slug.into_iter().collect(),
            )),
        }
    }
    render_page(&OrganizationsPage {
        page: PageLayout::new("Organizations", NavItem::Organization, &access, &client),
        organizations,
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewOrganizationForm {
    name: String,
    plan: String,
}

pub(crate) async fn create(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(new): Form<NewOrganizationForm>,
) -> Result<Response, PageError> {
    let plan: Plan = new
        .plan
        .parse()
        .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))?;
    let name = check_name(&new.name)?;
    let (by, now) = (access.signed_in.actor(), state.clock.now());
    let made = create_organization(&state, name, plan, &by, now).await?;
    add_owner(&state, &made, access.signed_in.person.id, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/organization/{}", made.id)).into_response())
}

fn check_name(text: &str) -> Result<&str, PageError> {
    let text = text.trim();
    if (1..=200).contains(&text.chars().count()) {
        Ok(text)
    } else {
        Err(PageError::Invalid(
            "Enter a name of 1 to 200 characters.".to_owned(),
        ))
    }
}

/// Uses the berth with the fewest organizations. Writes the shard first: the control row proves
/// that the shard's rows exist.
pub(crate) async fn create_organization(
    state: &DashboardState,
    name: &str,
    plan: Plan,
    by: &Actor,
    now: Timestamp,
) -> Result<Organization, PageError> {
    let no_berth =
        || PageError::Invalid("No berth is available. Run `longshored migrate`.".to_owned());
    let found = berth::find_emptiest(&state.control, None)
        .await?
        .ok_or_else(no_berth)?;
    let shard = state.shard(&found.shard).ok_or_else(no_berth)?;
    let made = Organization {
        id: OrganizationId::new(now, found.berth, rand::random()),
        name: name.to_owned(),
        plan,
        berth: found.berth,
        created_at: now,
    };
    account::open(shard, made.id, now).await?;
    organization::create(&state.control, &made, by).await?;
    Ok(made)
}

pub(crate) async fn add_owner(
    state: &DashboardState,
    of: &Organization,
    person: PersonId,
    by: &Actor,
    now: Timestamp,
) -> Result<(), PageError> {
    Ok(member::add(&state.control, of.id, person, Role::Owner, by, now).await?)
}

#[derive(Debug, Template)]
#[template(path = "organization.html")]
struct OrganizationPage {
    page: PageLayout,
    organization: OrganizationId,
    plan: Plan,
    requires_second_factor: bool,
    projects: Vec<Project>,
    /// The longest lifetime of an API key, in days.
    max_key_days: Option<i32>,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let scope = &within.scope;
    let mut projects = project::list(&state.control, scope.organization, None, 200).await?;
    projects.retain(|project| !project.is_erased);
    Ok(render_page(&OrganizationPage {
        page: PageLayout::for_organization(scope.organization_name.clone(), &within, &client),
        organization: scope.organization,
        plan: scope.plan,
        requires_second_factor: scope.requires_second_factor,
        projects,
        max_key_days: key_policy::find_max_key_days(&state.control, scope.organization).await?,
    }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct SecondFactorForm {
    required: bool,
}

/// Requires a second factor of everyone who opens the organization, or no longer.
pub(crate) async fn require_second_factor(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(SecondFactorForm { required }): Form<SecondFactorForm>,
) -> Result<Response, PageError> {
    let (signed_in, now) = (&within.access.signed_in, state.clock.now());
    if required && !signed_in.has_second_factor {
        let text = "Sign in with a second factor first: otherwise this would lock you out.";
        return Err(PageError::Invalid(text.to_owned()));
    }
    let (id, by) = (within.scope.organization, signed_in.actor());
    organization::require_second_factor(&state.control, id, required, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/organization/{id}")).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct KeyLifetimeForm {
    /// Empty for no limit.
    days: String,
}

pub(crate) async fn set_key_lifetime(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(KeyLifetimeForm { days }): Form<KeyLifetimeForm>,
) -> Result<Response, PageError> {
    let days = match days.trim() {
        "" => None,
        text => {
            let days = text
                .parse::<i32>()
                .ok()
                .filter(|days| (1..=3650).contains(days));
            let wrong = "Enter the lifetime in days, from 1 to 3650.";
            Some(days.ok_or_else(|| PageError::Invalid(wrong.to_owned()))?)
        }
    };
    let (organization, by) = (within.scope.organization, within.access.signed_in.actor());
    let now = state.clock.now();
    key_policy::set_max_key_days(&state.control, organization, days, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/organization/{organization}")).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewProjectForm {
    slug: String,
}

pub(crate) async fn create_project(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    Form(new): Form<NewProjectForm>,
) -> Result<Response, PageError> {
    let slug: Slug = new
        .slug
        .parse()
        .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))?;
    let found = organization::find(&state.control, within.scope.organization).await?;
    let of = found.ok_or(PageError::NotFound)?;
    let (by, now) = (within.access.signed_in.actor(), state.clock.now());
    let slug = insert_project(&state, &of, slug, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/project/{slug}")).into_response())
}

pub(crate) async fn insert_project(
    state: &DashboardState,
    of: &Organization,
    slug: Slug,
    by: &Actor,
    now: Timestamp,
) -> Result<Slug, PageError> {
    let made = Project {
        id: ProjectId::new(now, of.berth, rand::random()),
        organization: of.id,
        slug,
        is_active: true,
        created_at: now,
        is_erased: false,
    };
    match project::create(&state.control, &made, by).await {
        Ok(()) => Ok(made.slug),
        Err(failure) if failure.is_unique_violation() => Err(PageError::Invalid(format!(
            "The slug {} is already taken. Slugs are unique across all organizations.",
            made.slug
        ))),
        Err(failure) => Err(failure.into()),
    }
}
