//! `longshored admin project …`

use clap::Subcommand;
use domain::id::{OrganizationId, ProjectId};
use domain::project::Slug;
use domain::retention::ProjectRetention;
use domain::time::to_wire;
use serde::Serialize;
use store::control::audit_log::Actor;
use store::control::organization;
use store::control::project::{self, Project};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::argument;
use crate::admin::printer::{AdminView, yes_or_no};
use crate::admin::random;
use crate::admin::retention;
use crate::admin::signing;

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Create a project.
    Create {
        #[arg(long, value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: OrganizationId,
        /// Name in URLs, unique among all projects.
        #[arg(long)]
        slug: Slug,
    },
    /// List an organization's projects, oldest first.
    List {
        #[arg(long, value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: OrganizationId,
    },
    /// Accept a project's keys again.
    Activate {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Refuse a project's keys; accepted cargo is still completed.
    Deactivate {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Show how long the requests and answers of a project are kept, or change it.
    Retention {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
        /// Days after the load, `zero` to erase when the callback is acknowledged, or `default`.
        retention: Option<ProjectRetention>,
    },
    /// Include the metadata of the load in a project's callbacks.
    IncludeMetadata {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Leave the metadata of the load out of a project's callbacks, as by default.
    ExcludeMetadata {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
}

/// `max_days` is how long the installation keeps cargo.
pub(super) async fn run(
    command: ProjectCommand,
    max_days: u32,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        ProjectCommand::Retention { id, retention } => {
            retention::run(id, retention, max_days, context).await
        }
        ProjectCommand::Create { organization, slug } => create(organization, slug, context).await,
        ProjectCommand::List { organization } => list(organization, context).await,
        ProjectCommand::IncludeMetadata { id } => signing::set_metadata(id, true, context).await,
        ProjectCommand::ExcludeMetadata { id } => signing::set_metadata(id, false, context).await,
        ProjectCommand::Activate { id } => show(
            project::activate(context.control, id, &Actor::console(), context.now).await?,
            id,
            context,
        ),
        ProjectCommand::Deactivate { id } => show(
            project::deactivate(context.control, id, &Actor::console(), context.now).await?,
            id,
            context,
        ),
    }
}

async fn create(
    organization: OrganizationId,
    slug: Slug,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let owner = organization::find(context.control, organization).await?;
    let owner = owner.ok_or(AdminFailure::NoOrganization(organization))?;
    let created = Project {
        id: ProjectId::new(context.now, owner.berth, random::entropy()?),
        organization,
        slug,
        is_active: true,
        created_at: context.now,
        is_erased: false,
    };
    match project::create(context.control, &created, &Actor::console()).await {
        Ok(()) => context.printer.render_one(&ProjectView::from(created)),
        Err(failure) if failure.is_unique_violation() => Err(AdminFailure::SlugTaken(created.slug)),
        Err(failure) => Err(failure.into()),
    }
}

async fn list(
    organization: OrganizationId,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    if organization::find(context.control, organization)
        .await?
        .is_none()
    {
        return Err(AdminFailure::NoOrganization(organization));
    }
    let mut views: Vec<ProjectView> = Vec::new();
    let mut after = None;
    loop {
        let page = project::list(context.control, organization, after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            return context.printer.render_many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(ProjectView::from));
    }
}

fn show(
    found: Option<Project>,
    id: ProjectId,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    context.printer.render_one(&ProjectView::from(
        found.ok_or(AdminFailure::NoProject(id))?,
    ))
}

#[derive(Debug, Serialize)]
pub(super) struct ProjectView {
    project_id: String,
    organization_id: String,
    slug: String,
    is_active: bool,
    created_at: String,
}

impl From<Project> for ProjectView {
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

impl AdminView for ProjectView {
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
