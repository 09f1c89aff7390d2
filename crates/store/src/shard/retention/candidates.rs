//! Decides which of some cargo are erased now, and when the others are examined again.

use chrono::TimeDelta;
use domain::cargo::CallbackState;
use domain::id;
use domain::retention::CargoEnd;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::retention_from_row;
use crate::Error;
use crate::Transaction;
use crate::shard::cargo_erasure;
use crate::shard::waiting::id_bounds;

/// When cargo is examined again that is open, or whose callback is being sent.
const RECHECK_DELAY: TimeDelta = TimeDelta::hours(1);

/// A cargo of a project with its own retention that is not erased yet.
struct ErasureCandidate {
    id: Uuid,
    project: Uuid,
    days: i16,
    completed_at: Option<Timestamp>,
    has_callback: bool,
    callback_state: String,
    callback_ended_at: Option<Timestamp>,
}

impl ErasureCandidate {
    /// None: not before the cargo or its callback has ended.
    fn erase_at(&self) -> Option<Timestamp> {
        let end = CargoEnd {
            loaded_at: id::timestamp_of(self.id),
            completed_at: self.completed_at?,
            callback: self.has_callback.then(|| self.callback_state()),
            callback_ended_at: self.callback_ended_at,
        };
        retention_from_row(self.days).erase_at(&end)
    }

    fn callback_state(&self) -> CallbackState {
        match self.callback_state.as_str() {
            "delivered" => CallbackState::Delivered,
            "failed" => CallbackState::Failed,
            _ => CallbackState::Open,
        }
    }
}

/// Erases those that are due, and queues the others. Returns how many were erased.
pub(super) async fn erase_due(
    tx: &mut Transaction,
    cargo: &[Uuid],
    now: Timestamp,
) -> Result<usize, Error> {
    if cargo.is_empty() {
        return Ok(0);
    }
    let candidates = lock_candidates(tx, cargo).await?;
    let is_due = |it: &ErasureCandidate| it.erase_at().is_some_and(|at| at <= now);
    let due: Vec<Uuid> = candidates
        .iter()
        .filter(|it| is_due(it))
        .map(|it| it.id)
        .collect();
    let erased = cargo_erasure::erase(tx, &due, now).await?;
    let mut later = QueueColumns::default();
    for candidate in candidates.iter().filter(|it| !erased.contains(&it.id)) {
        let at = candidate.erase_at().filter(|at| *at > now);
        later.cargo.push(candidate.id);
        later.project.push(candidate.project);
        later.due_at.push(at.unwrap_or(now + RECHECK_DELAY));
    }
    later.insert(tx).await?;
    Ok(erased.len())
}

async fn lock_candidates(
    tx: &mut Transaction,
    cargo: &[Uuid],
) -> Result<Vec<ErasureCandidate>, Error> {
    let (first, last) = id_bounds(cargo);
    let candidates = sqlx::query_as!(
        ErasureCandidate,
        r#"select c.id, c.project, r.days, c.completed_at,
               c.callback_url is not null as "has_callback!", c.callback_state,
               c.callback_ended_at
           from shard.cargo c join shard.retention r on r.project = c.project
           where c.id = any($1) and c.id >= $2 and c.id <= $3 and c.erased_at is null
           order by c.id for no key update of c"#,
        cargo,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(candidates)
}

#[derive(Default)]
struct QueueColumns {
    cargo: Vec<Uuid>,
    project: Vec<Uuid>,
    due_at: Vec<Timestamp>,
}

impl QueueColumns {
    async fn insert(&self, tx: &mut Transaction) -> Result<(), Error> {
        if self.cargo.is_empty() {
            return Ok(());
        }
        sqlx::query!(
            "insert into shard.erasure (cargo, project, due_at)
             select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[])
             on conflict (cargo) do update set due_at = excluded.due_at",
            &self.cargo,
            &self.project,
            &self.due_at
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}
