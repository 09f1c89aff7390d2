//! The change feed, in commit order. Nodes follow it to invalidate their caches.

use crate::DatabaseSession;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// The key of the advisory lock under which changes are appended: "chng" in ASCII.
const APPEND_LOCK_KEY: i64 = 0x6368_6e67;

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Organization,
    Project,
    Key,
    Berth,
}

/// One row of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlChange {
    pub seq: i64,
    pub kind: ChangeKind,
    pub subject: Option<Uuid>,
}

/// One page of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// By the clock of control's server, when it answered.
    pub server_time: Timestamp,
    pub changes: Vec<ControlChange>,
}

impl ChangeKind {
    pub const ALL: [Self; 4] = [Self::Organization, Self::Project, Self::Key, Self::Berth];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Organization => "organization",
            Self::Project => "project",
            Self::Key => "key",
            Self::Berth => "berth",
        }
    }

    fn from_row(text: &str) -> Result<Self, Error> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or(Error::Corrupt {
            table: "control.change",
            column: "kind",
        })
    }
}

/// Waits until no other transaction appends, and blocks others until this one ends.
pub(super) async fn lock_feed(tx: &mut DatabaseSession) -> Result<(), Error> {
    sqlx::query!("select pg_advisory_xact_lock($1)", APPEND_LOCK_KEY)
        .execute(tx)
        .await?;
    Ok(())
}

/// Appends a change. Must be the last statement of a transaction: all other writers wait until
/// the transaction ends.
pub(super) async fn append(
    tx: &mut DatabaseSession,
    kind: ChangeKind,
    subject: Option<Uuid>,
    now: Timestamp,
) -> Result<(), Error> {
    // A separate statement, so that the sequence number is drawn under the lock.
    lock_feed(tx).await?;
    sqlx::query!(
        "insert into control.change (kind, subject, at) values ($1, $2, $3)",
        kind.as_str(),
        subject,
        now
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The newest sequence number, 0 in an empty feed. A node starts to follow there.
pub async fn read_newest_seq(control: &Control) -> Result<i64, Error> {
    let head =
        sqlx::query_scalar!(r#"select coalesce(max(seq), 0) as "head!" from control.change"#);
    Ok(head.fetch_one(&control.pool).await?)
}

/// The change at `seq`, if there is one, and at most `limit` after it.
///
/// The row that a node has already read proves that this is still the same feed, and not an older
/// copy from a restored backup.
pub async fn read_since(control: &Control, seq: i64, limit: u32) -> Result<ChangePage, Error> {
    let rows = sqlx::query!(
        r#"
        select clock.told as "told!", change.seq as "seq?", change.kind as "kind?", change.subject
        from (select clock_timestamp() as told) clock
        -- One row at least, so that control's time is told on a quiet day too.
        left join (
            select seq, kind, subject
            from control.change
            where seq >= $1
            order by seq
            limit $2
        ) change on true
        order by change.seq
        "#,
        seq,
        i64::from(limit) + 1
    )
    .fetch_all(&control.pool)
    .await?;

    let told = rows
        .first()
        .map(|row| row.told)
        .ok_or(sqlx::Error::RowNotFound)?;
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows {
        if let (Some(seq), Some(kind)) = (row.seq, row.kind) {
            changes.push(ControlChange {
                seq,
                kind: ChangeKind::from_row(&kind)?,
                subject: row.subject,
            });
        }
    }
    Ok(ChangePage {
        server_time: told,
        changes,
    })
}
