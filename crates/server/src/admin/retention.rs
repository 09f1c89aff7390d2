//! `longshored admin project retention`: how long the requests and answers of a project are kept.

use domain::id::ProjectId;
use domain::retention::ProjectRetention;
use serde::Serialize;
use store::control::audit_log::AuditEvent;
use store::control::project;
use store::shard::retention;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::organization;
use crate::admin::printer::AdminView;

pub(super) async fn run(
    id: ProjectId,
    chosen: Option<ProjectRetention>,
    max_days: u32,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let project = project::find(context.control, id).await?;
    let project = project.ok_or(AdminFailure::NoProject(id))?;
    let (_, shard) = organization::find_with_shard(project.organization, context).await?;
    let failed = |source| AdminFailure::ShardFailed {
        shard: shard.name.to_string(),
        source,
    };
    if let Some(chosen) = chosen {
        let chosen = chosen.check(max_days)?;
        let event = AuditEvent {
            organization: Some(project.organization),
            project: Some(id),
            action: "project.retention_changed",
            subject: project.slug.to_string(),
            detail: chosen.to_string(),
        };
        context.record(event).await?;
        let set = retention::set(shard, id, chosen, context.now).await;
        set.map_err(failed)?;
    }
    let kept = retention::find(shard, id).await.map_err(failed)?;
    context.printer.render_one(&RetentionView {
        project_id: id.to_string(),
        retention: kept.to_string(),
        installation_days: max_days,
    })
}

#[derive(Debug, Serialize)]
struct RetentionView {
    project_id: String,
    /// Days, `zero` or `default`.
    retention: String,
    installation_days: u32,
}

impl AdminView for RetentionView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("project", self.project_id.clone()),
            ("retention", self.retention.clone()),
            ("installation days", self.installation_days.to_string()),
        ]
    }
}
