//! `longshored admin project …`

use clap::Subcommand;
use domain::id::{OrganizationId, ProjectId};
use domain::project::Slug;
use domain::time::to_wire;
use serde::Serialize;
use store::control::audit::Author;
use store::control::organization;
use store::control::project::{self, Project};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::argument;
use crate::admin::printer::{Shown, yes_or_no};
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Make a project.
    Create {
        #[arg(long, value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: OrganizationId,
        /// Its name in addresses, unlike that of any other project.
        #[arg(long)]
        slug: Slug,
    },
    /// Show an organization's projects, oldest first.
    List {
        #[arg(long, value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: OrganizationId,
    },
    /// Let a project's keys in again.
    Activate {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Refuse a project's keys; cargo that was accepted is still finished.
    Deactivate {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
}

pub(super) async fn run(command: ProjectCommand, desk: Desk<'_>) -> Result<String, AdminFailure> {
    match command {
        ProjectCommand::Create { organization, slug } => create(organization, slug, desk).await,
        ProjectCommand::List { organization } => list(organization, desk).await,
        ProjectCommand::Activate { id } => show(
            project::activate(desk.control, id, &Author::console(), desk.now).await?,
            id,
            desk,
        ),
        ProjectCommand::Deactivate { id } => show(
            project::deactivate(desk.control, id, &Author::console(), desk.now).await?,
            id,
            desk,
        ),
    }
}

async fn create(
    organization: OrganizationId,
    slug: Slug,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    let owner = organization::find(desk.control, organization).await?;
    let owner = owner.ok_or(AdminFailure::NoOrganization(organization))?;
    let made = Project {
        id: ProjectId::new(desk.now, owner.berth, random::entropy()?),
        organization,
        slug,
        is_active: true,
        created_at: desk.now,
    };
    match project::create(desk.control, &made, &Author::console()).await {
        Ok(()) => desk.printer.one(&View::from(made)),
        Err(failure) if failure.is_conflict() => Err(AdminFailure::SlugTaken(made.slug)),
        Err(failure) => Err(failure.into()),
    }
}

async fn list(organization: OrganizationId, desk: Desk<'_>) -> Result<String, AdminFailure> {
    if organization::find(desk.control, organization)
        .await?
        .is_none()
    {
        return Err(AdminFailure::NoOrganization(organization));
    }
    let mut views: Vec<View> = Vec::new();
    let mut after = None;
    loop {
        let page = project::page(desk.control, organization, after, PAGE).await?;
        let Some(last) = page.last() else {
            return desk.printer.many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(View::from));
    }
}

fn show(found: Option<Project>, id: ProjectId, desk: Desk<'_>) -> Result<String, AdminFailure> {
    desk.printer
        .one(&View::from(found.ok_or(AdminFailure::NoProject(id))?))
}

#[derive(Debug, Serialize)]
pub(super) struct View {
    project_id: String,
    organization_id: String,
    slug: String,
    is_active: bool,
    created_at: String,
}

impl From<Project> for View {
    fn from(project: Project) -> Self {
        Self {
            project_id: project.id.to_string(),
            organization_id: project.organization.to_string(),
            slug: project.slug.to_string(),
            is_active: project.is_active,
            created_at: to_wire(project.created_at),
        }
    }
}

impl Shown for View {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("project", self.project_id.clone()),
            ("organization", self.organization_id.clone()),
            ("slug", self.slug.clone()),
            ("active", yes_or_no(self.is_active)),
            ("created", self.created_at.clone()),
        ]
    }
}
