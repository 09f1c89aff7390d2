//! `longshored admin encryption …`: encryption at rest, and the rotation of its keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Subcommand;
use domain::id::ProjectId;
use domain::master_key::MasterKeys;
use domain::time::to_wire;
use serde::Serialize;
use store::Shard;
use store::control::audit_log::AuditEvent;
use store::control::project;
use store::shard::project_keys::{self, EncryptionStatus, ProjectKeyRotation};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::printer::{AdminView, or_dash};
use crate::master_key;
use crate::settings::table::SettingValues;

/// How many data keys are read at once when all of them are wrapped again.
const KEYS_PER_PAGE: i64 = 100;

#[derive(Debug, Subcommand)]
pub(super) enum EncryptionCommand {
    /// Encrypt new values on every shard. First give every process the master key.
    Enable,
    /// Show whether new values are encrypted, and which master keys wrap the data keys.
    Status,
    /// Wrap every data key with the current master key. No value is rewritten.
    RotateMaster,
    /// Encrypt new values of a project with a new data key. Old values stay readable.
    RotateProject {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
}

pub(super) async fn run(
    command: EncryptionCommand,
    values: &SettingValues,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        EncryptionCommand::Enable => {
            find_master_keys(values).await?;
            enable(context).await
        }
        EncryptionCommand::Status => status(context).await,
        EncryptionCommand::RotateMaster => {
            let master_keys = find_master_keys(values).await?;
            rotate_master(&master_keys, context).await
        }
        EncryptionCommand::RotateProject { id } => {
            find_master_keys(values).await?;
            rotate_project(id, context).await
        }
    }
}

/// The master keys, if the current one works.
async fn find_master_keys(values: &SettingValues) -> Result<Arc<dyn MasterKeys>, AdminFailure> {
    let master_keys = master_key::from_settings(values)?.ok_or(AdminFailure::NoMasterKey)?;
    project_keys::check_master_key(&*master_keys).await?;
    Ok(master_keys)
}

async fn enable(context: AdminContext<'_>) -> Result<String, AdminFailure> {
    for shard in context.shards {
        record("encryption.enabled", &shard.name, context).await?;
        let enabled = project_keys::enable(shard, context.now).await;
        enabled.map_err(|source| incomplete(shard, source))?;
    }
    status(context).await
}

async fn status(context: AdminContext<'_>) -> Result<String, AdminFailure> {
    let mut views = Vec::with_capacity(context.shards.len());
    for shard in context.shards {
        let status = project_keys::read_status(shard).await;
        let status = status.map_err(|source| incomplete(shard, source))?;
        views.push(EncryptionView::new(shard, status));
    }
    context.printer.render_many(&views)
}

async fn rotate_master(
    master_keys: &Arc<dyn MasterKeys>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let mut views = Vec::with_capacity(context.shards.len());
    for shard in context.shards {
        record("encryption.master_rotated", &shard.name, context).await?;
        let (mut rewrapped, mut after) = (0, None);
        loop {
            let page = project_keys::rewrap_data_keys(shard, after, KEYS_PER_PAGE).await;
            let page = page.map_err(|source| incomplete(shard, source))?;
            let Some((count, last)) = page else { break };
            rewrapped += count;
            after = Some(last);
        }
        views.push(MasterRotationView {
            shard: shard.name.to_string(),
            master_key: master_keys.current_id().to_owned(),
            rewrapped,
        });
    }
    context.printer.render_many(&views)
}

async fn rotate_project(id: ProjectId, context: AdminContext<'_>) -> Result<String, AdminFailure> {
    let found = project::find(context.control, id).await?;
    let found = found.ok_or(AdminFailure::NoProject(id))?;
    let (_, shard) = organization::find_with_shard(found.organization, context).await?;
    let event = AuditEvent {
        organization: Some(found.organization),
        project: Some(id),
        action: "encryption.project_rotated",
        subject: found.slug.to_string(),
        detail: String::new(),
    };
    context.record(event).await?;
    let rotated = project_keys::rotate_project_key(shard, id, context.now).await;
    let rotated = rotated.map_err(|source| incomplete(shard, source))?;
    let data_key = match rotated {
        ProjectKeyRotation::Rotated(number) => Some(number),
        ProjectKeyRotation::NoKey => None,
        ProjectKeyRotation::Erased => return Err(AdminFailure::ProjectErased(id)),
    };
    context.printer.render_one(&ProjectRotationView {
        project_id: id.to_string(),
        data_key,
    })
}

async fn record(action: &str, shard: &str, context: AdminContext<'_>) -> Result<(), AdminFailure> {
    let event = AuditEvent {
        action,
        subject: shard.to_owned(),
        ..AuditEvent::default()
    };
    context.record(event).await
}

fn incomplete(shard: &Shard, source: store::Error) -> AdminFailure {
    AdminFailure::ShardIncomplete {
        shard: shard.name.to_string(),
        source,
    }
}

#[derive(Debug, Serialize)]
struct EncryptionView {
    shard: String,
    enabled_at: Option<String>,
    projects: u64,
    erased_projects: u64,
    /// How many data keys each master key wraps.
    data_keys: BTreeMap<String, u64>,
}

impl EncryptionView {
    fn new(shard: &Shard, status: EncryptionStatus) -> Self {
        let uses = status.master_keys.into_iter();
        Self {
            shard: shard.name.to_string(),
            enabled_at: status.enabled_at.map(to_wire),
            projects: status.projects,
            erased_projects: status.erased_projects,
            data_keys: uses.map(|it| (it.id, it.data_keys)).collect(),
        }
    }
}

impl AdminView for EncryptionView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let keys = self.data_keys.iter();
        let keys: Vec<String> = keys.map(|(id, count)| format!("{id}: {count}")).collect();
        vec![
            ("shard", self.shard.clone()),
            ("encrypted since", or_dash(self.enabled_at.as_ref())),
            ("projects", self.projects.to_string()),
            ("erased", self.erased_projects.to_string()),
            ("data keys by master key", keys.join(", ")),
        ]
    }
}

#[derive(Debug, Serialize)]
struct MasterRotationView {
    shard: String,
    master_key: String,
    /// How many data keys another master key wrapped.
    rewrapped: u64,
}

impl AdminView for MasterRotationView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("shard", self.shard.clone()),
            ("master key", self.master_key.clone()),
            ("rewrapped", self.rewrapped.to_string()),
        ]
    }
}

#[derive(Debug, Serialize)]
struct ProjectRotationView {
    project_id: String,
    /// The number of the new data key. None: the project has no encrypted values yet.
    data_key: Option<u32>,
}

impl AdminView for ProjectRotationView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let number = self.data_key.map(|number| number.to_string());
        vec![
            ("project", self.project_id.clone()),
            ("data key", or_dash(number.as_ref())),
        ]
    }

    fn note(&self) -> Option<&'static str> {
        Some(match self.data_key {
            Some(_) => "Processes use the new key within 10 seconds.",
            None => "Nothing to rotate: the project has no data key yet.",
        })
    }
}
