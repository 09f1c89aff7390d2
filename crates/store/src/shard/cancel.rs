//! Cancelling cargo. Cargo that no provider has is completed as cancelled. Of other cargo the
//! request is recorded: if its batch comes back without an answer, it is cancelled then.
//!
//! One row decides each race. Gather removes the row of the queue, and so does a cancellation. A
//! worker closes its batch under the batch's lock before it sends anything, and a cancellation
//! reads under the same lock whether the batch is closed. Locks are taken in one order: queue or
//! batch, cargo, account.

use domain::cargo::CargoStatus;
use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::cancel::rows::{CancelActor, OpenMember, cancel_in_batch, cancel_waiting};
use crate::shard::tracking::{parse_batch_state, parse_callback_state};

mod members;
mod rows;

pub use members::{GroupCancelStep, cancel_members, cancel_returned, list_cancelling};
pub use rows::CancelCounts;

/// The error of cancelled cargo.
pub const CANCELLED: &str = "cancelled";

/// How often a cargo may move between the queue and batches while it is being cancelled.
const MAX_MOVES: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelResult {
    /// It is completed as cancelled, by this request or by an earlier one.
    Cancelled,
    /// A provider has it or may have it.
    TooLate,
    /// It was completed before.
    Done,
}

/// The answer to a request to cancel one cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelAnswer {
    pub result: CancelResult,
    pub status: CargoStatus,
    /// Whether this request has completed the cargo.
    pub is_new: bool,
}

impl CancelAnswer {
    const fn unchanged(result: CancelResult, status: CargoStatus) -> Self {
        Self {
            result,
            status,
            is_new: false,
        }
    }
}

/// Where a cargo is, read without locks.
enum CargoPlace {
    Completed(CancelAnswer),
    Open(OpenMember),
}

/// Cancels a cargo of a project. None: the project has no such cargo.
pub async fn cancel_one(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
    now: Timestamp,
) -> Result<Option<CancelAnswer>, Error> {
    for _ in 0..MAX_MOVES {
        let member = match find(shard, project, cargo).await? {
            None => return Ok(None),
            Some(CargoPlace::Completed(answer)) => return Ok(Some(answer)),
            Some(CargoPlace::Open(member)) => member,
        };
        // Without an answer, it has left the place where it was found.
        if let Some(answer) = cancel_open(shard, member, now).await? {
            return Ok(Some(answer));
        }
    }
    Err(Error::Fenced)
}

async fn cancel_open(
    shard: &Shard,
    member: OpenMember,
    now: Timestamp,
) -> Result<Option<CancelAnswer>, Error> {
    let completed = CancelAnswer {
        result: CancelResult::Cancelled,
        status: CargoStatus::Completed,
        is_new: true,
    };
    let actor = CancelActor::Caller;
    let Some(batch) = member.batch else {
        let cancelled = cancel_waiting(shard, actor, &[member], now).await?;
        return Ok((cancelled > 0).then_some(completed));
    };
    let Some(ended) = cancel_in_batch(shard, actor, batch, &[member], now).await? else {
        return Ok(None);
    };
    if ended.counts.cancelled > 0 {
        return Ok(Some(completed));
    }
    let status = CargoStatus::from_rows(Some(ended.state), None);
    let too_late = CancelAnswer::unchanged(CancelResult::TooLate, status);
    Ok((ended.counts.too_late > 0).then_some(too_late))
}

async fn find(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<CargoPlace>, Error> {
    let row = sqlx::query!(
        r#"select c.organization, c.lane, c.attempt, c.batch, c.callback_state,
               c.completed_at is not null as "is_completed!", o.failure_code as "failure_code?",
               b.state as "batch_state?"
           from shard.cargo c
           left join shard.outcome o on o.cargo = $1
           left join shard.batch b on b.id = c.batch
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    if !row.is_completed {
        return Ok(Some(CargoPlace::Open(OpenMember {
            cargo,
            project,
            organization: row.organization,
            lane: row.lane,
            attempt: u32::try_from(row.attempt).unwrap_or(1),
            batch: row.batch,
        })));
    }
    let batch_state = row.batch_state.as_deref().map(parse_batch_state);
    let callback_state = parse_callback_state(&row.callback_state);
    let status = CargoStatus::from_rows(batch_state.transpose()?, Some(callback_state));
    // A repeated request is answered as the first one was.
    let was_cancelled = row.failure_code.as_deref() == Some(CANCELLED);
    let result = if was_cancelled {
        CancelResult::Cancelled
    } else {
        CancelResult::Done
    };
    let answer = CancelAnswer::unchanged(result, status);
    Ok(Some(CargoPlace::Completed(answer)))
}
