//! `longshored admin signing …`: the secrets of a project's signed callbacks.

use clap::Subcommand;
use domain::callback_settings::{CallbackSettings, CallbackSettingsChange, RotationOverlap};
use domain::callback_signature::SigningRoots;
use domain::id::ProjectId;
use domain::time::{Timestamp, to_wire};
use serde::Serialize;
use store::Shard;
use store::control::audit_log::AuditEvent;
use store::control::project::{self, Project};
use store::shard::callback_settings;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::printer::{AdminView, or_dash, yes_or_no};

#[derive(Debug, Subcommand)]
pub(super) enum SigningCommand {
    /// Show how a project's callbacks are sent, without a secret.
    Show {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Sign a project's callbacks, and show the secret.
    Enable {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Send a project's callbacks unsigned. Its secrets never come back.
    Disable {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Replace the secret, and show the new one. Both sign until the overlap ends.
    Rotate {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
        /// How long the old secret also signs: 0, 1h, 24h or 7d.
        #[arg(long, default_value = "24h")]
        overlap: RotationOverlap,
        /// End the secret of an earlier rotation that still signs.
        #[arg(long)]
        replace_previous: bool,
    },
    /// End the old secret before its overlap ends.
    EndPrevious {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
    /// Show the newest secret. The audit log records it.
    Secret {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
    },
}

pub(super) async fn run(
    command: SigningCommand,
    roots: Option<&SigningRoots>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    use CallbackSettingsChange::{DisableSigning, EnableSigning, EndPrevious, Rotate};
    let roots = || roots.ok_or(AdminFailure::NoSigningRoot);
    match command {
        SigningCommand::Show { id } => {
            let settings = SignedProject::find(id, context).await?.read().await?;
            print(id, settings, None, context)
        }
        SigningCommand::Enable { id } => {
            let roots = roots()?;
            let changed = change(id, EnableSigning, context).await?;
            print(id, changed, Some(roots), context)
        }
        SigningCommand::Disable { id } => {
            let changed = change(id, DisableSigning, context).await?;
            print(id, changed, None, context)
        }
        SigningCommand::Rotate {
            id,
            overlap,
            replace_previous,
        } => {
            let roots = roots()?;
            let rotation = Rotate {
                overlap,
                replaces_previous: replace_previous,
            };
            let changed = change(id, rotation, context).await?;
            print(id, changed, Some(roots), context)
        }
        SigningCommand::EndPrevious { id } => {
            let changed = change(id, EndPrevious, context).await?;
            print(id, changed, None, context)
        }
        SigningCommand::Secret { id } => show_secret(id, roots()?, context).await,
    }
}

/// Whether a project's callbacks include the metadata of the load.
pub(super) async fn set_metadata(
    id: ProjectId,
    is_included: bool,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let option = CallbackSettingsChange::IncludeMetadata(is_included);
    let changed = change(id, option, context).await?;
    print(id, changed, None, context)
}

async fn change(
    id: ProjectId,
    change: CallbackSettingsChange,
    context: AdminContext<'_>,
) -> Result<CallbackSettings, AdminFailure> {
    let project = SignedProject::find(id, context).await?;
    let now = project.now().await?;
    // A refused change is not in the audit log.
    project.read().await?.apply(change, now)?;
    let (action, detail) = (change.audit_action(), change.audit_detail());
    project.record(action, detail, context).await?;
    let changed = callback_settings::change(project.shard, id, change, now).await;
    Ok(changed.map_err(|source| project.failed(source))??)
}

async fn show_secret(
    id: ProjectId,
    roots: &SigningRoots,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let project = SignedProject::find(id, context).await?;
    let settings = project.read().await?;
    if settings.is_signed {
        project.record("signing.secret_shown", "", context).await?;
    }
    print(id, settings, Some(roots), context)
}

/// A project and the shard with its settings.
struct SignedProject<'a> {
    project: Project,
    shard: &'a Shard,
}

impl<'a> SignedProject<'a> {
    async fn find(id: ProjectId, context: AdminContext<'a>) -> Result<Self, AdminFailure> {
        let project = project::find(context.control, id).await?;
        let project = project.ok_or(AdminFailure::NoProject(id))?;
        let (_, shard) = organization::find_with_shard(project.organization, context).await?;
        Ok(Self { project, shard })
    }

    async fn read(&self) -> Result<CallbackSettings, AdminFailure> {
        let settings = callback_settings::find(self.shard, self.project.id).await;
        settings.map_err(|source| self.failed(source))
    }

    /// The end of an overlap is compared with the shard's time.
    async fn now(&self) -> Result<Timestamp, AdminFailure> {
        let now = store::doctor::read_server_time(&self.shard.pool).await;
        now.map_err(|source| self.failed(source))
    }

    async fn record(
        &self,
        action: &str,
        detail: &str,
        context: AdminContext<'_>,
    ) -> Result<(), AdminFailure> {
        let event = AuditEvent {
            organization: Some(self.project.organization),
            project: Some(self.project.id),
            action,
            subject: self.project.slug.to_string(),
            detail: detail.to_owned(),
        };
        context.record(event).await
    }

    fn failed(&self, source: store::Error) -> AdminFailure {
        AdminFailure::ShardFailed {
            shard: self.shard.name.to_string(),
            source,
        }
    }
}

/// With the roots, the newest secret is shown.
fn print(
    id: ProjectId,
    settings: CallbackSettings,
    roots: Option<&SigningRoots>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let secret = roots.filter(|_| settings.is_signed);
    let previous = settings.previous;
    context.printer.render_one(&SigningView {
        project_id: id.to_string(),
        is_signed: settings.is_signed,
        secret_version: settings.is_signed.then_some(settings.version),
        previous_version: previous.map(|previous| previous.version),
        previous_until: previous.map(|previous| to_wire(previous.until)),
        includes_metadata: settings.includes_metadata,
        secret: secret.map(|roots| roots.secret(id, settings.version).reveal()),
    })
}

/// No `Debug`: it may hold a secret.
#[derive(Serialize)]
struct SigningView {
    project_id: String,
    is_signed: bool,
    secret_version: Option<u32>,
    previous_version: Option<u32>,
    previous_until: Option<String>,
    includes_metadata: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl AdminView for SigningView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let number = |version: Option<u32>| or_dash(version.map(|it| it.to_string()).as_ref());
        let mut fields = vec![
            ("project", self.project_id.clone()),
            ("signed", yes_or_no(self.is_signed)),
            ("secret version", number(self.secret_version)),
            ("previous version", number(self.previous_version)),
            ("previous until", or_dash(self.previous_until.as_ref())),
            ("metadata", yes_or_no(self.includes_metadata)),
        ];
        if let Some(secret) = &self.secret {
            fields.push(("secret", secret.clone()));
        }
        fields
    }

    fn note(&self) -> Option<&'static str> {
        self.secret
            .as_ref()
            .map(|_| "Give the secret to the receiver. Workers use it within 5 seconds.")
    }
}
