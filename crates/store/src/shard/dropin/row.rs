//! The row of a batch, with the counts of its group.

use domain::cargo_group::{GroupCounts, GroupTimes};
use domain::dropin::Facade;
use domain::id::{ApiKeyId, GroupId, OrganizationId, ParcelId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;

/// A batch in the format of another provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropinBatch {
    pub group: GroupId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub facade: Facade,
    pub parcel: ParcelId,
    /// When the end of the window is, as the format shows it.
    pub expires_at: Timestamp,
    pub items: u64,
    /// JSON: what the request set for the whole batch.
    pub options: Option<Vec<u8>>,
    /// How many items are loaded or failed.
    pub unpacked: u64,
    pub unpacked_at: Option<Timestamp>,
    /// Since when the next item waits for credit.
    pub stalled_at: Option<Timestamp>,
    /// JSON: why the whole batch failed.
    pub failure: Option<Vec<u8>>,
    pub failed_at: Option<Timestamp>,
    /// When the retention deleted its group.
    pub archived_at: Option<Timestamp>,
    /// Of its group. Without a group, only the creation is known.
    pub times: GroupTimes,
    /// Of its group: only items that are loaded or failed.
    pub counts: GroupCounts,
    /// How many of the failed ended by their deadline.
    pub expired: u64,
}

impl DropinBatch {
    /// When the last item ended: all are unpacked, and all cargo is completed.
    pub fn ended_at(&self) -> Option<Timestamp> {
        let unpacked_at = self.unpacked_at?;
        self.failed_at
            .or_else(|| Some(self.times.completed_at?.max(unpacked_at)))
            .or(self.archived_at)
    }

    /// Items that have no result yet.
    pub const fn unfinished(&self) -> u64 {
        let ended = self.counts.succeeded + self.counts.failed + self.counts.cancelled;
        self.items.saturating_sub(ended)
    }
}

pub(super) struct Row {
    pub(super) group_id: Uuid,
    pub(super) organization: Uuid,
    pub(super) project: Uuid,
    pub(super) api_key: Uuid,
    pub(super) facade: i16,
    pub(super) parcel: Uuid,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) items: i64,
    pub(super) options: Option<Vec<u8>>,
    pub(super) unpacked: i64,
    pub(super) unpacked_at: Option<Timestamp>,
    pub(super) stalled_at: Option<Timestamp>,
    pub(super) failure: Option<Vec<u8>>,
    pub(super) failed_at: Option<Timestamp>,
    pub(super) archived_at: Option<Timestamp>,
    pub(super) sealed_at: Option<Timestamp>,
    pub(super) cancel_requested_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) succeeded: Option<i64>,
    pub(super) failed: Option<i64>,
    pub(super) cancelled: Option<i64>,
    pub(super) total: Option<i64>,
    pub(super) expired: i64,
}

/// Complete rows of batches. The first literal selects the rows as `b`; the second is the order.
/// A label is the code if encryption is on, and otherwise begins with the text of the error.
macro_rules! batches {
    ($b:literal, $order:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            crate::shard::dropin::row::Row,
            "with "
                + $b
                + r#"
               select b.group_id as "group_id!", b.organization as "organization!",
                   b.project as "project!", b.api_key as "api_key!", b.facade as "facade!",
                   b.parcel as "parcel!", b.created_at as "created_at!",
                   b.expires_at as "expires_at!", b.items as "items!", b.options,
                   b.unpacked as "unpacked!", b.unpacked_at, b.stalled_at, b.failure, b.failed_at,
                   b.archived_at, g.sealed_at as "sealed_at?",
                   g.cancel_requested_at as "cancel_requested_at?",
                   g.completed_at as "completed_at?", g.succeeded as "succeeded?",
                   g.failed as "failed?", g.cancelled as "cancelled?", g.total as "total?",
                   (select coalesce(sum(f.count), 0)::bigint from shard.group_failure f
                    where f.group_id = b.group_id and (f.label = 'deadline_exceeded'
                        or f.label like 'the deadline%')) as "expired!"
               from b left join shard.cargo_group g on g.id = b.group_id
               order by "#
                + $order
            $(, $argument)*
        )
    };
}
pub(super) use batches;

/// Decrypts rows. Never in a transaction: the master key may take long.
pub(super) async fn read_batches(shard: &Shard, rows: Vec<Row>) -> Result<Vec<DropinBatch>, Error> {
    let mut request = KeyRequest::default();
    for row in &rows {
        let project = row.project.into();
        request.add(project, row.options.as_deref());
        request.add(project, row.failure.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    rows.into_iter().map(|row| row.decrypt(&keys)).collect()
}

/// The batch of one row, if there is one.
pub(super) async fn read_batch(
    shard: &Shard,
    row: Option<Row>,
) -> Result<Option<DropinBatch>, Error> {
    let mut batches = read_batches(shard, row.into_iter().collect()).await?;
    Ok(batches.pop())
}

impl Row {
    fn decrypt(self, keys: &ReadKeys) -> Result<DropinBatch, Error> {
        let (project, row) = (self.project.into(), self.group_id);
        let identity = |kind| ValueIdentity { project, row, kind };
        let count = |value: Option<i64>| unsigned(value.unwrap_or_default());
        Ok(DropinBatch {
            group: row.into(),
            organization: self.organization.into(),
            project,
            key: self.api_key.into(),
            facade: Facade::from_code(self.facade).ok_or(Error::Corrupt {
                table: "dropin_batch",
                column: "facade",
            })?,
            parcel: self.parcel.into(),
            expires_at: self.expires_at,
            items: unsigned(self.items),
            options: keys.decrypt_json(identity(ContentKind::DropinOptions), self.options)?,
            unpacked: unsigned(self.unpacked),
            unpacked_at: self.unpacked_at,
            stalled_at: self.stalled_at,
            failure: keys.decrypt_json(identity(ContentKind::DropinFailure), self.failure)?,
            failed_at: self.failed_at,
            archived_at: self.archived_at,
            times: GroupTimes {
                created_at: self.created_at,
                sealed_at: self.sealed_at,
                cancel_requested_at: self.cancel_requested_at,
                completed_at: self.completed_at,
            },
            counts: GroupCounts {
                total: count(self.total),
                succeeded: count(self.succeeded),
                failed: count(self.failed),
                cancelled: count(self.cancelled),
            },
            expired: unsigned(self.expired),
        })
    }
}
