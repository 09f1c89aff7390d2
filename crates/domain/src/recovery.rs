//! Whether a database still has all rows that it once committed. One that was restored to an
//! earlier moment, or copied, works on only after an operator has accepted it.

use crate::bucket_marker::{BucketMarker, DatabaseOrigin, RemovalHoldReason};

/// A standby that was promoted may lack the marker that the dead primary wrote last. A database
/// that lacks more was restored.
const MAX_GENERATIONS_LOST_IN_FAILOVER: i64 = 1;

/// What is known about the marker in the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketReading {
    /// There is no object store.
    NotConfigured,
    /// The object store did not answer, or its health is not known yet.
    Unreadable,
    /// No marker was written to this bucket.
    Empty,
    Found(BucketMarker),
}

impl BucketReading {
    pub const fn marker(self) -> Option<BucketMarker> {
        match self {
            Self::Found(marker) => Some(marker),
            Self::NotConfigured | Self::Unreadable | Self::Empty => None,
        }
    }
}

/// What the rows say.
#[derive(Debug, Clone, Copy)]
pub struct RowsReading<'a> {
    /// The server, timeline and database that wrote the rows' marker last.
    pub origin: Option<&'a DatabaseOrigin>,
    pub current: &'a DatabaseOrigin,
    pub marker: BucketMarker,
    /// The newest generation that this process has read from the rows.
    pub newest_generation: i64,
}

/// What happened to the database since the rows' marker was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseHistory {
    Unchanged,
    /// A standby was promoted. The last rows may be lost.
    Failover,
    /// It is another database than before, or one from an earlier moment.
    Restored(RemovalHoldReason),
    /// A failover or a restore: only the bucket can tell which.
    Undecided,
}

/// Compares the rows with the bucket.
pub fn judge_history(rows: RowsReading<'_>, bucket: BucketReading) -> DatabaseHistory {
    use DatabaseHistory::{Failover, Restored, Unchanged, Undecided};
    let is_new_timeline = match rows.origin.map(|origin| origin.compare(rows.current)) {
        Some(Err(RemovalHoldReason::NewTimeline)) => true,
        Some(Err(reason)) => return Restored(reason),
        Some(Ok(())) | None => false,
    };
    let seen_before = rows.newest_generation - rows.marker.generation;
    let tolerated = if is_new_timeline {
        MAX_GENERATIONS_LOST_IN_FAILOVER
    } else {
        0
    };
    if seen_before > tolerated {
        return Restored(RemovalHoldReason::RowsWentBack);
    }
    match bucket {
        BucketReading::Unreadable if is_new_timeline => Undecided,
        // A copy was given another bucket.
        BucketReading::Empty if is_new_timeline => Restored(RemovalHoldReason::OtherBucket),
        BucketReading::Found(found) => {
            let lost = found.generation - rows.marker.generation;
            let is_other_writer = lost == 0 && found.nonce != rows.marker.nonce;
            if is_new_timeline && lost <= MAX_GENERATIONS_LOST_IN_FAILOVER && !is_other_writer {
                Failover
            } else if lost > 0 {
                Restored(RemovalHoldReason::BucketIsNewer)
            } else if is_other_writer {
                Restored(RemovalHoldReason::OtherWriter)
            } else {
                Unchanged
            }
        }
        BucketReading::NotConfigured | BucketReading::Unreadable | BucketReading::Empty => {
            if is_new_timeline {
                Failover
            } else {
                Unchanged
            }
        }
    }
}

/// What the rows know about the batch that a job's label names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKnowledge {
    NoRow,
    /// It was not submitted, as far as the rows know.
    NotSubmitted,
    /// It became this job.
    SameJob,
    /// It became another job, or ended without one.
    OtherJob,
}

/// Who submitted a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOrigin {
    /// It carries the identity of this shard, or an operator has said that no other installation
    /// uses the account.
    ThisShard,
    /// Its label does not say which installation submitted it.
    Unproven,
    /// It carries another identity, or no label of ours.
    Other,
}

/// What happens to a job that was found at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFate {
    Known,
    /// Its batch is reconciled with it instead of being sent again.
    Adopt,
    /// Its rows are lost, or took another way: its answers cannot be delivered.
    Cancel,
    /// It may belong to another installation, so it is only reported.
    Report,
    Ignore,
}

pub const fn judge_job(batch: BatchKnowledge, origin: JobOrigin) -> JobFate {
    // The id of a batch is random: who has its row has submitted its jobs.
    match (batch, origin) {
        (BatchKnowledge::SameJob, _) => JobFate::Known,
        (BatchKnowledge::NotSubmitted, _) => JobFate::Adopt,
        (BatchKnowledge::OtherJob, _) | (BatchKnowledge::NoRow, JobOrigin::ThisShard) => {
            JobFate::Cancel
        }
        (BatchKnowledge::NoRow, JobOrigin::Unproven) => JobFate::Report,
        (BatchKnowledge::NoRow, JobOrigin::Other) => JobFate::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use DatabaseHistory::{Failover, Restored, Unchanged, Undecided};

    fn marker(generation: i64, nonce: u128) -> BucketMarker {
        BucketMarker {
            generation,
            nonce: Uuid::from_u128(nonce),
        }
    }

    /// The rows are at generation 7.
    fn judge(origin: Option<&str>, bucket: BucketReading) -> DatabaseHistory {
        let origin = origin.map(|text| DatabaseOrigin::parse(text).unwrap());
        let rows = RowsReading {
            origin: origin.as_ref(),
            current: &DatabaseOrigin::parse("1/00000001/5").unwrap(),
            marker: marker(7, 7),
            newest_generation: 7,
        };
        judge_history(rows, bucket)
    }

    const SAME: Option<&str> = Some("1/00000001/5");
    const OTHER_TIMELINE: Option<&str> = Some("1/00000002/5");

    #[test]
    fn rows_that_are_as_new_as_the_bucket_are_unchanged() {
        for origin in [SAME, None] {
            for bucket in [
                BucketReading::NotConfigured,
                BucketReading::Unreadable,
                BucketReading::Empty,
                BucketReading::Found(marker(6, 1)),
                BucketReading::Found(marker(7, 7)),
            ] {
                assert_eq!(judge(origin, bucket), Unchanged, "{bucket:?}");
            }
        }
    }

    #[test]
    fn a_newer_bucket_means_a_restore() {
        let newer = Restored(RemovalHoldReason::BucketIsNewer);
        assert_eq!(judge(SAME, BucketReading::Found(marker(8, 8))), newer);
        assert_eq!(
            judge(OTHER_TIMELINE, BucketReading::Found(marker(9, 9))),
            newer
        );
    }

    #[test]
    fn a_marker_of_another_database_means_a_copy() {
        let other = Restored(RemovalHoldReason::OtherWriter);
        for origin in [SAME, OTHER_TIMELINE] {
            assert_eq!(judge(origin, BucketReading::Found(marker(7, 8))), other);
        }
        for (origin, reason) in [
            ("2/00000001/5", RemovalHoldReason::OtherServer),
            ("1/00000001/6", RemovalHoldReason::OtherDatabase),
        ] {
            let bucket = BucketReading::NotConfigured;
            assert_eq!(judge(Some(origin), bucket), Restored(reason));
        }
    }

    #[test]
    fn a_failover_may_lose_the_last_marker() {
        for bucket in [
            BucketReading::NotConfigured,
            BucketReading::Found(marker(6, 1)),
            BucketReading::Found(marker(7, 7)),
            BucketReading::Found(marker(8, 8)),
        ] {
            assert_eq!(judge(OTHER_TIMELINE, bucket), Failover, "{bucket:?}");
        }
    }

    #[test]
    fn a_new_timeline_is_undecided_until_the_bucket_is_read() {
        assert_eq!(judge(OTHER_TIMELINE, BucketReading::Unreadable), Undecided);
        let other_bucket = Restored(RemovalHoldReason::OtherBucket);
        assert_eq!(judge(OTHER_TIMELINE, BucketReading::Empty), other_bucket);
    }

    #[test]
    fn rows_older_than_this_process_has_seen_mean_a_restore() {
        let origin = DatabaseOrigin::parse("1/00000001/5").unwrap();
        let rows = RowsReading {
            origin: Some(&origin),
            current: &origin,
            marker: marker(7, 7),
            newest_generation: 8,
        };
        let went_back = Restored(RemovalHoldReason::RowsWentBack);
        assert_eq!(judge_history(rows, BucketReading::NotConfigured), went_back);
        // A failover may lose the last marker.
        let promoted = RowsReading {
            current: &DatabaseOrigin::parse("1/00000002/5").unwrap(),
            ..rows
        };
        assert_eq!(
            judge_history(promoted, BucketReading::NotConfigured),
            Failover
        );
        let restored = RowsReading {
            newest_generation: 9,
            ..promoted
        };
        assert_eq!(
            judge_history(restored, BucketReading::NotConfigured),
            went_back
        );
    }

    #[test]
    fn a_job_without_a_row_is_cancelled_only_if_this_shard_submitted_it() {
        for (origin, fate) in [
            (JobOrigin::ThisShard, JobFate::Cancel),
            (JobOrigin::Unproven, JobFate::Report),
            (JobOrigin::Other, JobFate::Ignore),
        ] {
            assert_eq!(judge_job(BatchKnowledge::NoRow, origin), fate);
            assert_eq!(judge_job(BatchKnowledge::SameJob, origin), JobFate::Known);
            let unsent = BatchKnowledge::NotSubmitted;
            assert_eq!(judge_job(unsent, origin), JobFate::Adopt);
            assert_eq!(judge_job(BatchKnowledge::OtherJob, origin), JobFate::Cancel);
        }
    }
}
