//! The feed of changes, in the order in which they were committed.

use crate::Session;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// The advisory lock under which changes are appended: "chng" in ASCII.
const APPENDING: i64 = 0x6368_6e67;

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Organization,
    Project,
    Key,
    Berth,
}

/// One row of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub seq: i64,
    pub kind: Kind,
    pub subject: Option<Uuid>,
}

/// One look at the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What control's own clock told while it answered.
    pub told: Timestamp,
    pub changes: Vec<Change>,
}

impl Kind {
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

/// Waits until no other transaction is appending, and keeps others out to the end of this one.
pub(super) async fn lock(tx: &mut Session) -> Result<(), Error> {
    sqlx::query!("select pg_advisory_xact_lock($1)", APPENDING)
        .execute(tx)
        .await?;
    Ok(())
}

/// Notes a change. The last statement of a transaction: everyone else waits until it ends.
pub(super) async fn note(
    tx: &mut Session,
    kind: Kind,
    subject: Option<Uuid>,
    now: Timestamp,
) -> Result<(), Error> {
    // A statement of its own, so that the number is drawn under the lock.
    lock(tx).await?;
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

/// The newest number, 0 in an empty feed: where a node begins to follow.
pub async fn head(control: &Control) -> Result<i64, Error> {
    let head =
        sqlx::query_scalar!(r#"select coalesce(max(seq), 0) as "head!" from control.change"#);
    Ok(head.fetch_one(&control.pool).await?)
}

/// The change at `seq` itself, if there is one, and at most `limit` after it.
///
/// The row that a node has already read is the proof that this is still the feed
/// it followed, and not an older copy of it that was brought back.
pub async fn since(control: &Control, seq: i64, limit: u32) -> Result<Page, Error> {
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
            changes.push(Change {
                seq,
                kind: Kind::from_row(&kind)?,
                subject: row.subject,
            });
        }
    }
    Ok(Page { told, changes })
}
