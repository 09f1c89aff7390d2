//! `longshored admin key …`

use clap::Subcommand;
use domain::id::{KeyId, ProjectId};
use domain::time::{Timestamp, to_wire};
use serde::Serialize;
use store::control::api_key::{self, ApiKey};
use store::control::audit::Author;
use store::control::project;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::argument;
use crate::admin::printer::{Shown, or_dash, yes_or_no};
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key and show it, this once.
    Create {
        #[arg(long, value_parser = argument::id::<domain::id::ProjectKind>)]
        project: ProjectId,
        /// What the key is for.
        #[arg(long, value_parser = argument::name)]
        name: String,
        /// When it ends, as in 2027-01-31T00:00:00Z; never, if not given.
        #[arg(long, value_parser = argument::moment)]
        expires_at: Option<Timestamp>,
    },
    /// Show a project's keys by their first characters, oldest first.
    List {
        #[arg(long, value_parser = argument::id::<domain::id::ProjectKind>)]
        project: ProjectId,
    },
    /// Let a key in again.
    Activate {
        #[arg(value_parser = argument::id::<domain::id::KeyKind>)]
        id: KeyId,
    },
    /// Refuse a key as if it were unknown; nodes follow within about a second.
    Deactivate {
        #[arg(value_parser = argument::id::<domain::id::KeyKind>)]
        id: KeyId,
    },
}

pub(super) async fn run(command: KeyCommand, desk: Desk<'_>) -> Result<String, AdminFailure> {
    match command {
        KeyCommand::Create {
            project,
            name,
            expires_at,
        } => create(project, name, expires_at, desk).await,
        KeyCommand::List { project } => list(project, desk).await,
        KeyCommand::Activate { id } => show(
            api_key::activate(desk.control, id, &Author::console(), desk.now).await?,
            id,
            desk,
        ),
        KeyCommand::Deactivate { id } => show(
            api_key::deactivate(desk.control, id, &Author::console(), desk.now).await?,
            id,
            desk,
        ),
    }
}

async fn create(
    project: ProjectId,
    name: String,
    expires_at: Option<Timestamp>,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    if project::find(desk.control, project).await?.is_none() {
        return Err(AdminFailure::NoProject(project));
    }
    let drawn = random::api_key()?;
    let made = ApiKey {
        id: KeyId::new(desk.now, project.berth(), random::entropy()?),
        project,
        name,
        prefix: drawn.shown().to_owned(),
        is_active: true,
        expires_at,
        last_used_at: None,
        created_at: desk.now,
        successor: None,
    };
    api_key::create(desk.control, &made, drawn.digest(), &Author::console()).await?;
    let mut view = View::from(made);
    view.reveal(drawn.reveal());
    desk.printer.one(&view)
}

async fn list(project: ProjectId, desk: Desk<'_>) -> Result<String, AdminFailure> {
    if project::find(desk.control, project).await?.is_none() {
        return Err(AdminFailure::NoProject(project));
    }
    let mut views: Vec<View> = Vec::new();
    let mut after = None;
    loop {
        let page = api_key::page(desk.control, project, after, PAGE).await?;
        let Some(last) = page.last() else {
            return desk.printer.many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(View::from));
    }
}

fn show(found: Option<ApiKey>, id: KeyId, desk: Desk<'_>) -> Result<String, AdminFailure> {
    desk.printer
        .one(&View::from(found.ok_or(AdminFailure::NoKey(id))?))
}

/// No `Debug`: for once it may hold the whole key.
#[derive(Serialize)]
pub(super) struct View {
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

impl View {
    pub(super) fn reveal(&mut self, key: &str) {
        self.key = Some(key.to_owned());
    }
}

impl From<ApiKey> for View {
    fn from(key: ApiKey) -> Self {
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

impl Shown for View {
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

    fn remark(&self) -> Option<&'static str> {
        self.key
            .as_ref()
            .map(|_| "The key is shown this once: only its digest is kept.")
    }
}
