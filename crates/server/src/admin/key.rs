//! `longshored admin key …`

use clap::{Args, Subcommand};
use domain::id::{ApiKeyId, ProjectId};
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::key_spending::SpendingCap;
use domain::money::Money;
use domain::time::{Timestamp, to_wire};
use ipnet::IpNet;
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
    Create(NewKeyArguments),
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

/// Without an option there is no restriction. The scope of a key cannot be changed later.
#[derive(Debug, Args)]
pub(super) struct NewKeyArguments {
    #[arg(long, value_parser = argument::id::<domain::id::ProjectKind>)]
    project: ProjectId,
    /// What the key is for.
    #[arg(long, value_parser = argument::name)]
    name: String,
    /// When the key expires, such as 2027-01-31T00:00:00Z. If not given: never, or after the
    /// longest lifetime that the organization allows.
    #[arg(long, value_parser = argument::moment)]
    expires_at: Option<Timestamp>,
    /// What the key may do: load, read, files.
    #[arg(long, value_delimiter = ',')]
    rights: Option<Vec<KeyRight>>,
    /// The models whose cargo the key may load.
    #[arg(long, value_delimiter = ',', value_parser = argument::name)]
    models: Option<Vec<String>>,
    /// The addresses from which the key may be used, such as 192.0.2.7,10.0.0.0/8.
    #[arg(long, value_delimiter = ',', value_parser = parse_address_range)]
    addresses: Option<Vec<IpNet>>,
    /// The most dollars that the key may spend in a calendar month (UTC), such as 12.50.
    #[arg(long, value_parser = argument::monthly_cap)]
    monthly_cap: Option<Money>,
}

pub(super) async fn run(
    command: KeyCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        KeyCommand::Create(arguments) => create(arguments, context).await,
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

async fn create(new: NewKeyArguments, context: AdminContext<'_>) -> Result<String, AdminFailure> {
    let project = new.project;
    if project::find(context.control, project).await?.is_none() {
        return Err(AdminFailure::NoProject(project));
    }
    let generated = random::api_key()?;
    let id = ApiKeyId::new(context.now, project.berth(), random::entropy()?);
    let mut created = ApiKeyRow {
        id,
        project,
        name: new.name,
        prefix: generated.display_prefix().to_owned(),
        is_active: true,
        expires_at: new.expires_at,
        last_used_at: None,
        last_used_address: None,
        created_at: context.now,
        successor: None,
        scope: KeyScope {
            rights: new.rights,
            models: new.models,
            addresses: new.addresses,
            spending_cap: new
                .monthly_cap
                .map(|monthly| SpendingCap { key: id, monthly }),
        },
    };
    let (digest, by) = (generated.digest(), Actor::console());
    created.expires_at = api_key::create(context.control, &created, digest, &by).await?;
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
    last_used_address: Option<String>,
    created_at: String,
    scope: String,
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
            last_used_address: key.last_used_address,
            created_at: to_wire(key.created_at),
            scope: key.scope.to_string(),
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
            ("from", or_dash(self.last_used_address.as_ref())),
            ("created", self.created_at.clone()),
            ("scope", self.scope.clone()),
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
