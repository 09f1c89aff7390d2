//! Whether database and bucket belong together. A database that was restored, promoted or copied
//! may lack the rows of objects in the bucket; then no object may be removed.

use std::fmt;

use uuid::Uuid;

use crate::time::Timestamp;

/// The PostgreSQL server, timeline and database: `server/timeline/database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseOrigin {
    server: String,
    timeline: String,
    database: String,
}

impl DatabaseOrigin {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let (server, timeline, database) = (parts.next()?, parts.next()?, parts.next()?);
        parts.next().is_none().then_some(Self {
            server,
            timeline,
            database,
        })
    }

    /// Whether the rows are still where they were.
    pub fn compare(&self, current: &Self) -> Result<(), RemovalHoldReason> {
        if self.server != current.server {
            return Err(RemovalHoldReason::OtherServer);
        }
        if self.database != current.database {
            return Err(RemovalHoldReason::OtherDatabase);
        }
        if self.timeline != current.timeline {
            return Err(RemovalHoldReason::NewTimeline);
        }
        Ok(())
    }

    pub fn timeline(&self) -> &str {
        &self.timeline
    }
}

impl fmt::Display for DatabaseOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.server, self.timeline, self.database)
    }
}

/// A marker in a bucket. The database stores the next marker before it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketMarker {
    pub generation: i64,
    /// Tells two databases apart that began the same generation.
    pub nonce: Uuid,
}

/// Removal is held until an operator confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalHold {
    pub since: Timestamp,
    pub reason: String,
}

/// Why removal must be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemovalHoldReason {
    #[error("the rows are on another PostgreSQL server than before")]
    OtherServer,
    #[error("PostgreSQL's timeline changed: a standby was promoted, or a backup was restored")]
    NewTimeline,
    #[error("the rows are in another database than before: it was copied or restored")]
    OtherDatabase,
    #[error("the bucket's marker is newer than the rows: the database is from an earlier moment")]
    BucketIsNewer,
    #[error("another database has written the bucket's marker")]
    OtherWriter,
    #[error("the rows are older than those that this process has seen before")]
    RowsWentBack,
    #[error("the timeline changed and the bucket has no marker: a copy was given another bucket")]
    OtherBucket,
}

/// `origin` and `ours` come from the database, `found` from the bucket. None: there is none, or it
/// was not read.
pub fn check_bucket_marker(
    origin: Option<&DatabaseOrigin>,
    current: &DatabaseOrigin,
    ours: BucketMarker,
    found: Option<BucketMarker>,
) -> Result<(), RemovalHoldReason> {
    if let Some(origin) = origin {
        origin.compare(current)?;
    }
    match found {
        Some(found) if found.generation > ours.generation => Err(RemovalHoldReason::BucketIsNewer),
        Some(found) if found.generation == ours.generation && found.nonce != ours.nonce => {
            Err(RemovalHoldReason::OtherWriter)
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: BucketMarker = BucketMarker {
        generation: 7,
        nonce: Uuid::from_u128(7),
    };

    fn origin(text: &str) -> DatabaseOrigin {
        DatabaseOrigin::parse(text).unwrap()
    }

    fn check(known: Option<&str>, found: Option<(i64, u128)>) -> Result<(), RemovalHoldReason> {
        let found = found.map(|(generation, nonce)| BucketMarker {
            generation,
            nonce: Uuid::from_u128(nonce),
        });
        let known = known.map(origin);
        check_bucket_marker(known.as_ref(), &origin("1/00000001/5"), OURS, found)
    }

    #[test]
    fn rows_of_the_same_database_may_be_as_new_as_the_bucket_or_newer() {
        for found in [None, Some((0, 1)), Some((6, 1)), Some((7, 7))] {
            assert_eq!(check(Some("1/00000001/5"), found), Ok(()), "{found:?}");
            assert_eq!(check(None, found), Ok(()), "{found:?}");
        }
    }

    #[test]
    fn a_newer_bucket_holds_removal() {
        assert_eq!(
            check(None, Some((8, 8))),
            Err(RemovalHoldReason::BucketIsNewer)
        );
        assert_eq!(
            check(None, Some((7, 8))),
            Err(RemovalHoldReason::OtherWriter)
        );
    }

    #[test]
    fn another_origin_holds_removal_with_any_bucket() {
        for (known, reason) in [
            ("2/00000001/5", RemovalHoldReason::OtherServer),
            ("1/00000002/5", RemovalHoldReason::NewTimeline),
            ("1/00000001/6", RemovalHoldReason::OtherDatabase),
        ] {
            assert_eq!(check(Some(known), Some((7, 7))), Err(reason));
            assert_eq!(check(Some(known), None), Err(reason));
        }
    }

    #[test]
    fn an_origin_has_three_parts() {
        assert_eq!(origin("1/2/3").to_string(), "1/2/3");
        for bad in ["", "1", "1/2", "1/2/3/4"] {
            assert_eq!(DatabaseOrigin::parse(bad), None, "{bad}");
        }
    }
}
