//! Organizations and their projects: seen by members, made by operators and owners.

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
use store::control::audit::Author;
use store::control::organization::{self, Organization};
use store::control::project::{self, Project};
use store::control::{berth, member};
use store::shard::account;

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InOrganization, Seated, Visitor};
use crate::state::Desk;

#[derive(Debug, Template)]
#[template(path = "organizations.html")]
struct List {
    page: Page,
    organizations: Vec<(OrganizationId, String, Vec<String>)>,
}

pub(crate) async fn list(Seated(seat): Seated, visitor: Visitor) -> Response {
    let mut organizations: Vec<(OrganizationId, String, Vec<String>)> = Vec::new();
    for choice in &seat.choices {
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
    show(&List {
        page: Page::new("Organizations", Here::Organization, &seat, &visitor),
        organizations,
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewOrganization {
    name: String,
    plan: String,
}

pub(crate) async fn create(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(new): Form<NewOrganization>,
) -> Result<Response, No> {
    let plan: Plan = new
        .plan
        .parse()
        .map_err(|wrong| No::Invalid(format!("{wrong}.")))?;
    let name = named(&new.name)?;
    let (by, now) = (seat.guest.author(), desk.clock.now());
    let made = make(&desk, name, plan, &by, now).await?;
    own(&desk, &made, seat.guest.person.id, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/organization/{}", made.id)).into_response())
}

fn named(text: &str) -> Result<&str, No> {
    let text = text.trim();
    if (1..=200).contains(&text.chars().count()) {
        Ok(text)
    } else {
        Err(No::Invalid("A name has 1 to 200 characters.".to_owned()))
    }
}

/// In the berth that has the fewest. The shard side first: the control row is the proof of it.
pub(crate) async fn make(
    desk: &Desk,
    name: &str,
    plan: Plan,
    by: &Author,
    now: Timestamp,
) -> Result<Organization, No> {
    let nowhere = || No::Invalid("There are no berths yet: run `longshored migrate`.".to_owned());
    let place = berth::emptiest(&desk.control, None)
        .await?
        .ok_or_else(nowhere)?;
    let shard = desk.shard(&place.shard).ok_or_else(nowhere)?;
    let made = Organization {
        id: OrganizationId::new(now, place.berth, rand::random()),
        name: name.to_owned(),
        plan,
        berth: place.berth,
        created_at: now,
    };
    account::open(shard, made.id, now).await?;
    organization::create(&desk.control, &made, by).await?;
    Ok(made)
}

pub(crate) async fn own(
    desk: &Desk,
    of: &Organization,
    person: PersonId,
    by: &Author,
    now: Timestamp,
) -> Result<(), No> {
    Ok(member::add(&desk.control, of.id, person, Role::Owner, by, now).await?)
}

#[derive(Debug, Template)]
#[template(path = "organization.html")]
struct One {
    page: Page,
    organization: OrganizationId,
    plan: Plan,
    projects: Vec<Project>,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
) -> Result<Response, No> {
    let place = &within.place;
    Ok(show(&One {
        page: Page::of_organization(place.organization_name.clone(), &within, &visitor),
        organization: place.organization,
        plan: place.plan,
        projects: project::page(&desk.control, place.organization, None, 200).await?,
    }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewProject {
    slug: String,
}

pub(crate) async fn create_project(
    State(desk): State<Desk>,
    within: InOrganization,
    Form(new): Form<NewProject>,
) -> Result<Response, No> {
    let slug: Slug = new
        .slug
        .parse()
        .map_err(|wrong| No::Invalid(format!("{wrong}.")))?;
    let found = organization::find(&desk.control, within.place.organization).await?;
    let of = found.ok_or(No::NotFound)?;
    let (by, now) = (within.seat.guest.author(), desk.clock.now());
    let slug = make_project(&desk, &of, slug, &by, now).await?;
    Ok(Redirect::to(&format!("/dashboard/project/{slug}")).into_response())
}

pub(crate) async fn make_project(
    desk: &Desk,
    of: &Organization,
    slug: Slug,
    by: &Author,
    now: Timestamp,
) -> Result<Slug, No> {
    let made = Project {
        id: ProjectId::new(now, of.berth, rand::random()),
        organization: of.id,
        slug,
        is_active: true,
        created_at: now,
    };
    match project::create(&desk.control, &made, by).await {
        Ok(()) => Ok(made.slug),
        Err(failure) if failure.is_conflict() => Err(No::Invalid(format!(
            "There is a project named {} already. Names are unique in the whole service.",
            made.slug
        ))),
        Err(failure) => Err(failure.into()),
    }
}
