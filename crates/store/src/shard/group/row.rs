//! The row of a group.

use domain::cargo_group::{GroupCounts, GroupStatus, GroupTimes};
use domain::id::{GroupId, OrganizationId, ProjectId};
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::saving::Saving;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow {
    pub id: GroupId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub name: String,
    /// JSON, as the caller sent it.
    pub metadata: Option<Vec<u8>>,
    pub callback_url: Option<String>,
    pub times: GroupTimes,
    pub counts: GroupCounts,
    pub usage: TokenUsage,
    /// For cargo that is not completed.
    pub held: Money,
    pub charged: Money,
    /// Of cargo that succeeded and has a realtime price.
    pub saving: Saving,
}

impl GroupRow {
    pub const fn status(&self) -> GroupStatus {
        GroupStatus::of(&self.times)
    }
}

pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) organization: Uuid,
    pub(super) project: Uuid,
    pub(super) name: String,
    pub(super) metadata: Option<Vec<u8>>,
    pub(super) callback_url: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) sealed_at: Option<Timestamp>,
    pub(super) cancel_requested_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) total: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) cancelled: i64,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    pub(super) held: i64,
    pub(super) charged: i64,
    pub(super) realtime: i64,
    pub(super) saved: i64,
}

/// Complete rows of groups, newest first. The literal selects the rows, as `g`.
macro_rules! groups {
    ($g:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            crate::shard::group::row::Row,
            "with "
                + $g
                + r#"
               select g.id as "id!", g.organization as "organization!", g.project as "project!",
                   g.name as "name!", g.metadata, g.callback_url, g.created_at as "created_at!",
                   g.sealed_at, g.cancel_requested_at, g.completed_at, g.total as "total!",
                   g.succeeded as "succeeded!", g.failed as "failed!", g.cancelled as "cancelled!",
                   g.input_tokens as "input_tokens!", g.output_tokens as "output_tokens!",
                   g.held as "held!", g.charged as "charged!", g.realtime as "realtime!",
                   g.saved as "saved!"
               from g order by g.id desc"#
            $(, $argument)*
        )
    };
}
pub(super) use groups;

/// The groups of some rows, decrypted. Never in a transaction: the master key may take long.
pub(super) async fn read_groups(shard: &Shard, rows: Vec<Row>) -> Result<Vec<GroupRow>, Error> {
    let mut request = KeyRequest::default();
    for row in &rows {
        request.extend(&row.key_request());
    }
    let keys = read_keys(shard, &request).await?;
    rows.into_iter().map(|row| row.decrypt(&keys)).collect()
}

/// The group of one row, if there is one.
pub(super) async fn read_group(shard: &Shard, row: Option<Row>) -> Result<Option<GroupRow>, Error> {
    let mut groups = read_groups(shard, row.into_iter().collect()).await?;
    Ok(groups.pop())
}

impl Row {
    pub(super) fn key_request(&self) -> KeyRequest {
        let (project, mut request) = (self.project.into(), KeyRequest::default());
        request.add(project, self.metadata.as_deref());
        request.add_text(project, self.callback_url.as_deref());
        request
    }

    pub(super) fn decrypt(self, keys: &ReadKeys) -> Result<GroupRow, Error> {
        let (project, row) = (self.project.into(), self.id);
        let identity = |kind| ValueIdentity { project, row, kind };
        let url = self.callback_url;
        let url = url.map(|url| keys.decrypt_text(identity(ContentKind::GroupCallbackUrl), url));
        Ok(GroupRow {
            id: self.id.into(),
            organization: self.organization.into(),
            project,
            name: self.name,
            metadata: keys.decrypt_json(identity(ContentKind::GroupMetadata), self.metadata)?,
            callback_url: url.transpose()?,
            times: GroupTimes {
                created_at: self.created_at,
                sealed_at: self.sealed_at,
                cancel_requested_at: self.cancel_requested_at,
                completed_at: self.completed_at,
            },
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
        })
    }
}
