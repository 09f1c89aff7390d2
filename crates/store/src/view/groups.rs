//! The pages of groups: a project's groups with their progress, and the newest results of one.

mod results;

use std::collections::HashMap;

use domain::cargo_group::{GroupCounts, GroupPace, GroupStatus, GroupTimes};
use domain::id::{GroupId, ProjectId};
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::saving::Saving;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;
use crate::shard::waiting::id_bounds;
use crate::view::cargo::begin_index_ordered;

pub use results::{GroupResultItem, list_results};

/// A group as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectGroup {
    pub id: GroupId,
    pub name: String,
    pub times: GroupTimes,
    /// When its newest cargo was loaded.
    pub loaded_at: Option<Timestamp>,
    pub counts: GroupCounts,
    pub usage: TokenUsage,
    /// For cargo that is not completed.
    pub held: Money,
    pub charged: Money,
    /// Of cargo that succeeded and has a realtime price.
    pub saving: Saving,
    /// How long recent batches of the lane of its newest cargo took. None if it is completed.
    pub turnaround_seconds: Option<f64>,
}

impl ProjectGroup {
    pub const fn pace(&self) -> GroupPace {
        GroupPace {
            status: self.status(),
            counts: self.counts,
            loaded_at: self.loaded_at,
            turnaround_seconds: self.turnaround_seconds,
        }
    }

    pub const fn status(&self) -> GroupStatus {
        GroupStatus::of(&self.times)
    }
}

struct Row {
    id: Uuid,
    name: String,
    metadata: Option<Vec<u8>>,
    created_at: Timestamp,
    loaded_at: Option<Timestamp>,
    sealed_at: Option<Timestamp>,
    cancel_requested_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    total: i64,
    succeeded: i64,
    failed: i64,
    cancelled: i64,
    input_tokens: i64,
    output_tokens: i64,
    held: i64,
    charged: i64,
    realtime: i64,
    saved: i64,
    newest_cargo: Option<Uuid>,
}

impl Row {
    fn into_group(self, turnarounds: &HashMap<Uuid, f64>) -> ProjectGroup {
        let newest = self.newest_cargo;
        ProjectGroup {
            id: self.id.into(),
            name: self.name,
            times: GroupTimes {
                created_at: self.created_at,
                sealed_at: self.sealed_at,
                cancel_requested_at: self.cancel_requested_at,
                completed_at: self.completed_at,
            },
            loaded_at: self.loaded_at,
            counts: GroupCounts {
                total: unsigned(self.total),
                succeeded: unsigned(self.succeeded),
                failed: unsigned(self.failed),
                cancelled: unsigned(self.cancelled),
            },
            usage: TokenUsage {
                input_tokens: unsigned(self.input_tokens),
                output_tokens: unsigned(self.output_tokens),
            },
            held: Money(self.held),
            charged: Money(self.charged),
            saving: Saving {
                realtime: Money(self.realtime),
                saved: Money(self.saved),
            },
            turnaround_seconds: newest.and_then(|cargo| turnarounds.get(&cargo).copied()),
        }
    }
}

/// Newest first, older than `before`.
///
/// Ordered and bounded by both columns, so that only the index on both can be used. A scan of the
/// primary key would read over the groups of other projects.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    before: Option<GroupId>,
    limit: u32,
) -> Result<Vec<ProjectGroup>, Error> {
    let mut tx = begin_index_ordered(shard).await?;
    let rows = sqlx::query_as!(
        Row,
        r#"select g.id, g.name, null::bytea as metadata, g.created_at, g.loaded_at, g.sealed_at,
               g.cancel_requested_at, g.completed_at, g.total, g.succeeded, g.failed, g.cancelled,
               g.input_tokens, g.output_tokens, g.held, g.charged, g.realtime, g.saved,
               newest.cargo as "newest_cargo?"
           from shard.cargo_group g left join lateral (
               select m.cargo from shard.group_member m
               where m.group_id = g.id and g.completed_at is null
               order by m.position desc limit 1) newest on true
           where (g.project, g.id) >= ($1, '00000000-0000-0000-0000-000000000000'::uuid)
               and (g.project, g.id) < ($1, $2)
           order by g.project desc, g.id desc limit $3"#,
        project.uuid(),
        before.map_or(Uuid::max(), GroupId::uuid),
        i64::from(limit)
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let newest: Vec<Uuid> = rows.iter().filter_map(|row| row.newest_cargo).collect();
    let turnarounds = read_turnarounds(shard, &newest).await?;
    let groups = rows.into_iter().map(|row| row.into_group(&turnarounds));
    Ok(groups.collect())
}

/// The usual turnaround of the lane of each cargo, in seconds.
async fn read_turnarounds(shard: &Shard, cargo: &[Uuid]) -> Result<HashMap<Uuid, f64>, Error> {
    if cargo.is_empty() {
        return Ok(HashMap::new());
    }
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query!(
        "select c.id, l.turnaround_seconds
         from shard.cargo c join shard.lane l on l.id = c.lane
         where c.id = any($1) and c.id >= $2 and c.id <= $3",
        cargo,
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let known = rows
        .into_iter()
        .filter_map(|row| Some((row.id, row.turnaround_seconds?)));
    Ok(known.collect())
}

/// What only the page of one group shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectGroupDetail {
    pub group: ProjectGroup,
    /// JSON, as the caller sent it.
    pub metadata: Option<Vec<u8>>,
}

pub async fn find(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
) -> Result<Option<ProjectGroupDetail>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select g.id, g.name, g.metadata, g.created_at, g.loaded_at, g.sealed_at,
               g.cancel_requested_at, g.completed_at, g.total, g.succeeded, g.failed, g.cancelled,
               g.input_tokens, g.output_tokens, g.held, g.charged, g.realtime, g.saved,
               newest.cargo as "newest_cargo?"
           from shard.cargo_group g left join lateral (
               select m.cargo from shard.group_member m
               where m.group_id = $1 and g.completed_at is null
               order by m.position desc limit 1) newest on true
           where g.id = $1 and g.project = $2"#,
        group.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(mut row) = row else { return Ok(None) };
    let metadata = row.metadata.take();
    let mut request = KeyRequest::default();
    request.add(project, metadata.as_deref());
    let keys = read_keys(shard, &request).await?;
    let identity = ValueIdentity {
        project,
        row: row.id,
        kind: ContentKind::GroupMetadata,
    };
    let turnarounds = read_turnarounds(shard, row.newest_cargo.as_slice()).await?;
    Ok(Some(ProjectGroupDetail {
        group: row.into_group(&turnarounds),
        metadata: keys.decrypt_json(identity, metadata)?,
    }))
}

/// The name of a group of the project.
pub async fn find_name(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
) -> Result<Option<String>, Error> {
    let name = sqlx::query_scalar!(
        "select name from shard.cargo_group where id = $1 and project = $2",
        group.uuid(),
        project.uuid()
    );
    Ok(name.fetch_optional(&shard.reads).await?)
}
