//! Whether rows and bucket belong together: a database that was restored, promoted or copied may
//! lack the rows of bytes that lie in the bucket, and then no bytes may be removed.

use std::fmt;

use uuid::Uuid;

use crate::time::Timestamp;

/// Which server, timeline and database answers: `server/timeline/database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    server: String,
    timeline: String,
    database: String,
}

impl Origin {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let (server, timeline, database) = (parts.next()?, parts.next()?, parts.next()?);
        parts.next().is_none().then_some(Self {
            server,
            timeline,
            database,
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.server, self.timeline, self.database)
    }
}

/// A marker in a bucket. Rows name the next one before it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    pub generation: i64,
    /// Tells two databases apart that began the same generation.
    pub nonce: Uuid,
}

/// Removal is held until an operator confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub since: Timestamp,
    pub reason: String,
}

/// Why removal must be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldReason {
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
    #[error("the rows are older than this process has seen them")]
    RowsWentBack,
}

/// `origin` and `ours` are what the rows say, `found` what the bucket has; None where there is
/// nothing or where it was not looked at.
pub fn judge(
    origin: Option<&Origin>,
    current: &Origin,
    ours: Marker,
    found: Option<Marker>,
) -> Result<(), HoldReason> {
    if let Some(origin) = origin {
        if origin.server != current.server {
            return Err(HoldReason::OtherServer);
        }
        if origin.timeline != current.timeline {
            return Err(HoldReason::NewTimeline);
        }
        if origin.database != current.database {
            return Err(HoldReason::OtherDatabase);
        }
    }
    match found {
        Some(found) if found.generation > ours.generation => Err(HoldReason::BucketIsNewer),
        Some(found) if found.generation == ours.generation && found.nonce != ours.nonce => {
            Err(HoldReason::OtherWriter)
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Marker = Marker {
        generation: 7,
        nonce: Uuid::from_u128(7),
    };

    fn origin(text: &str) -> Origin {
        Origin::parse(text).unwrap()
    }

    fn judged(known: Option<&str>, found: Option<(i64, u128)>) -> Result<(), HoldReason> {
        let found = found.map(|(generation, nonce)| Marker {
            generation,
            nonce: Uuid::from_u128(nonce),
        });
        let known = known.map(origin);
        judge(known.as_ref(), &origin("1/00000001/5"), OURS, found)
    }

    #[test]
    fn rows_of_the_same_database_may_be_as_new_as_the_bucket_or_newer() {
        for found in [None, Some((0, 1)), Some((6, 1)), Some((7, 7))] {
            assert_eq!(judged(Some("1/00000001/5"), found), Ok(()), "{found:?}");
            assert_eq!(judged(None, found), Ok(()), "{found:?}");
        }
    }

    #[test]
    fn a_newer_bucket_holds_removal() {
        assert_eq!(judged(None, Some((8, 8))), Err(HoldReason::BucketIsNewer));
        assert_eq!(judged(None, Some((7, 8))), Err(HoldReason::OtherWriter));
    }

    #[test]
    fn another_origin_holds_removal_whatever_the_bucket_has() {
        for (known, reason) in [
            ("2/00000001/5", HoldReason::OtherServer),
            ("1/00000002/5", HoldReason::NewTimeline),
            ("1/00000001/6", HoldReason::OtherDatabase),
        ] {
            assert_eq!(judged(Some(known), Some((7, 7))), Err(reason));
            assert_eq!(judged(Some(known), None), Err(reason));
        }
    }

    #[test]
    fn an_origin_has_three_parts() {
        assert_eq!(origin("1/2/3").to_string(), "1/2/3");
        for bad in ["", "1", "1/2", "1/2/3/4"] {
            assert_eq!(Origin::parse(bad), None, "{bad}");
        }
    }
}
