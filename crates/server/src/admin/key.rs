//! `longshored admin key …`

use clap::Subcommand;
use domain::id::{ApiKeyId, ProjectId};
use domain::time::{Timestamp, to_wire};
use serde::Serialize;
use store::control::api_key::{self, ApiKeyRow};
use store::control::audit_log::Actor;
use store::control::project;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::argument;
use crate::admin::printer::{AdminView, or_dash, yes_or_no};
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create a key and show it; it cannot be shown again.
    Create {
        #[arg(long, value_parser = argument::id::<domain::id::ProjectKind>)]
        project: ProjectId,
        /// What the key is for.
        #[arg(long, value_parser = argument::name)]
        name: String,
        /// When the key expires, such as 2027-01-31T00:00:00Z; never, if not given.
        #[arg(long, value_parser = argument::moment)]
        expires_at: Option<Timestamp>,
    },
    /// List a project's keys with their first characters, oldest first.
    List {
        #[arg(long, value_parser = argument::id::<domain::id::ProjectKind>)]
        project: ProjectId,
    },
    /// Accept a deactivated key again.
    Activate {
        #[arg(value_parser = argument::id::<domain::id::ApiKeyKind>)]
        id: ApiKeyId,
    },
    /// Refuse a key like an unknown one; takes effect within about a second.
    Deactivate {
        #[arg(value_parser = argument::id::<domain::id::ApiKeyKind>)]
        id: ApiKeyId,
    },
}

pub(super) async fn run(
    command: KeyCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        KeyCommand::Create {
            project,
            name,
            expires_at,
        } => create(project, name, expires_at, context).await,
        KeyCommand::List { project } => list(project, context).await,
        KeyCommand::Activate { id } => show(
            api_key::activate(context.control, id, &Actor::console(), context.now).await?,
            id,
            context,
        ),
        KeyCommand::Deactivate { id } => show(
            api_key::deactivate(context.control, id, &Actor::console(), context.now).await?,
            id,
            context,
        ),
    }
}

async fn create(
    project: ProjectId,
    name: String,
    expires_at: Option<Timestamp>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    if project::find(context.control, project).await?.is_none() {
        return Err(AdminFailure::NoProject(project));
    }
    let generated = random::api_key()?;
    let created = ApiKeyRow {
        id: ApiKeyId::new(context.now, project.berth(), random::entropy()?),
        project,
        name,
        prefix: generated.display_prefix().to_owned(),
        is_active: true,
        expires_at,
        last_used_at: None,
        created_at: context.now,
        successor: None,
    };
    api_key::create(
        context.control,
        &created,
        generated.digest(),
        &Actor::console(),
    )
    .await?;
    let mut view = KeyView::from(created);
    view.set_key(generated.reveal());
    context.printer.render_one(&view)
}

async fn list(project: ProjectId, context: AdminContext<'_>) -> Result<String, AdminFailure> {
    if project::find(context.control, project).await?.is_none() {
        return Err(AdminFailure::NoProject(project));
    }
    let mut views: Vec<KeyView> = Vec::new();
    let mut after = None;
    loop {
        let page = api_key::list(context.control, project, after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            return context.printer.render_many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(KeyView::from));
    }
}

fn show(
    found: Option<ApiKeyRow>,
    id: ApiKeyId,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    context
        .printer
        .render_one(&KeyView::from(found.ok_or(AdminFailure::NoKey(id))?))
}

/// No `Debug`: after creation it holds the whole key.
#[derive(Serialize)]
pub(super) struct KeyView {
    key_id: String,
    project_id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    key_prefix: String,
    is_active: bool,
    expires_at: Option<String>,
    last_used_at: Option<String>,
    created_at: String,
}

impl KeyView {
    pub(super) fn set_key(&mut self, key: &str) {
        self.key = Some(key.to_owned());
    }
}

impl From<ApiKeyRow> for KeyView {
    fn from(key: ApiKeyRow) -> Self {
        Self {
            key_id: key.id.to_string(),
            project_id: key.project.to_string(),
            name: key.name,
            key: None,
            key_prefix: key.prefix,
            is_active: key.is_active,
            expires_at: key.expires_at.map(to_wire),
            last_used_at: key.last_used_at.map(to_wire),
            created_at: to_wire(key.created_at),
        }
    }
}

impl AdminView for KeyView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("key id", self.key_id.clone()),
            ("project", self.project_id.clone()),
            ("name", self.name.clone()),
            ("prefix", self.key_prefix.clone()),
            ("active", yes_or_no(self.is_active)),
            ("expires", or_dash(self.expires_at.as_ref())),
            ("last used", or_dash(self.last_used_at.as_ref())),
            ("created", self.created_at.clone()),
        ];
        if let Some(key) = &self.key {
            fields.push(("key", key.clone()));
        }
        fields
    }

    fn note(&self) -> Option<&'static str> {
        self.key.as_ref().map(
            |_| "Store the key now: it cannot be shown again. Longshore keeps only its digest.",
        )
    }
}
