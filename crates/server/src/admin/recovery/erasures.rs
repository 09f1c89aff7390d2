//! Erases again what was erased after the moment to which a database was restored.

use domain::erasure_log::ErasureSubject;
use domain::id::ProjectId;
use store::control::audit_log::Actor;
use store::control::{organization, person, project};
use store::erasure;
use store::shard::project_erasure::ProjectContents;

use crate::admin::AdminFailure;
use crate::admin::organization as organization_command;
use crate::admin::recovery::{RecoveryContext, failed_on};

/// The erasures that the databases did not have.
#[derive(Debug, Default)]
pub(super) struct ReplayedErasures {
    pub(super) count: usize,
    /// Their cargo is in flight. Only a repeated command erases what is left of it.
    pub(super) incomplete: Vec<ErasureSubject>,
}

pub(super) async fn replay(context: RecoveryContext<'_>) -> Result<ReplayedErasures, AdminFailure> {
    let mut replayed = ReplayedErasures::default();
    let Some(objects) = context.objects else {
        return Ok(replayed);
    };
    let mut logged = objects.list_erasures().await?;
    // Projects before their organizations, as an erasure does it.
    logged.sort_by_key(|subject| matches!(subject, ErasureSubject::Organization(_)));
    for subject in logged {
        let Some(left) = replay_one(context, subject).await? else {
            continue;
        };
        replayed.count += 1;
        // Workers remove objects later.
        if left.open_cargo > 0 || left.files > 0 {
            replayed.incomplete.push(subject);
        }
    }
    Ok(replayed)
}

/// What is left of it. None: the databases have this erasure.
async fn replay_one(
    context: RecoveryContext<'_>,
    subject: ErasureSubject,
) -> Result<Option<ProjectContents>, AdminFailure> {
    let (control, by, now) = (context.admin.control, Actor::console(), context.admin.now);
    let interrupted = AdminFailure::ErasureInterrupted;
    match subject {
        ErasureSubject::Project(id) => replay_project(context, id).await,
        ErasureSubject::Organization(id) => {
            let found = organization::find(control, id).await?;
            let Some(found) = found.filter(|it| it.name != erasure::ERASED_ORGANIZATION) else {
                return Ok(None);
            };
            let (_, shard) = organization_command::find_with_shard(found.id, context.admin).await?;
            let erased = erasure::erase_organization(control, shard, id, &by, now).await;
            erased.map(Some).map_err(interrupted)
        }
        ErasureSubject::Person(id) => {
            let Some(person) = person::find(control, id).await? else {
                return Ok(None);
            };
            let shards = context.admin.shards;
            let erased = erasure::erase_person(control, shards, &person, &by, now).await;
            let nothing_left = |()| Some(ProjectContents::default());
            erased.map(nothing_left).map_err(interrupted)
        }
    }
}

/// A project whose row is erased may have rows on a shard that was restored to an earlier moment
/// than control, and the other way round.
async fn replay_project(
    context: RecoveryContext<'_>,
    id: ProjectId,
) -> Result<Option<ProjectContents>, AdminFailure> {
    let (control, by, now) = (context.admin.control, Actor::console(), context.admin.now);
    let interrupted = AdminFailure::ErasureInterrupted;
    if let Some(project) = project::find(control, id).await? {
        let (_, shard) =
            organization_command::find_with_shard(project.organization, context.admin).await?;
        let rows = erasure::has_rows(shard, id)
            .await
            .map_err(failed_on(shard))?;
        if project.is_erased && !rows {
            return Ok(None);
        }
        let erased = erasure::erase_project(control, shard, &project, &by, now).await;
        return erased.map(Some).map_err(interrupted);
    }
    // Control was restored to a moment before the project.
    let mut left = None;
    for shard in context.admin.shards {
        if erasure::has_rows(shard, id)
            .await
            .map_err(failed_on(shard))?
        {
            let erased = erasure::erase_project_rows(shard, id, now).await;
            let before = left.unwrap_or_default();
            left = Some(erased.map_err(interrupted)?.plus(before));
        }
    }
    Ok(left)
}
