//! The unpacker: a task of the serving process that loads the items of batches into their groups.
//!
//! It works under a lease, on one batch after the other, a part of a block at a time. The plan's
//! bucket sets its pace. A load is repeatable by its position in the group, so after a crash
//! another process continues at the stored place.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use chrono::TimeDelta;
use domain::dropin::Facade;
use domain::error_chain;
use domain::time::Timestamp;
use serde_json::json;
use store::shard::dropin::{self, DropinBatch, UnpackLease, UnpackPlace};
use store::shard::parcel;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api_error::{ApiError, ErrorCause};
use crate::batch_callers::BatchCaller;
use crate::dropin::unpacker::item::{ItemProgress, PlacedItem};
use crate::state::{App, ShardHandle};

mod item;
mod round;

/// How long a process that stopped keeps its batch from others.
const LEASE_TIME: TimeDelta = TimeDelta::seconds(60);
/// How many items are loaded before the next batch has its turn.
const MAX_ITEMS_PER_TURN: usize = 512;
/// How often batches of other processes are looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long items wait for credit before they fail.
const MAX_STALL: TimeDelta = TimeDelta::hours(1);
/// How often a batch without credit is tried.
const STALL_PAUSE: TimeDelta = TimeDelta::seconds(30);
/// After so many failed turns in a row, the batch has failed: a further turn would fail, too.
const MAX_FAILED_TURNS: u32 = 5;

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TurnEnd {
    place: UnpackPlace,
    /// When the batch may have its next turn.
    next_turn_at: Timestamp,
}

/// Starts one unpacker for each shard. `stop` ends them.
pub fn spawn_unpackers(app: &App, tracker: &TaskTracker, stop: &CancellationToken) {
    for facade in [Facade::Anthropic, Facade::OpenAi] {
        for result in ["loaded", "failed", "cancelled"] {
            metrics::counter!("longshore_dropin_items_total", "facade" => facade.as_str(), "result" => result)
                .increment(0);
        }
    }
    for name in app.shard_names() {
        let (app, name, stop) = (app.clone(), Arc::clone(name), stop.clone());
        tracker.spawn(async move {
            if let Some(handle) = app.shard_handle_of(&name) {
                run(&app, handle, &stop).await;
            }
        });
    }
}

/// Loads the items of all batches that are due, as the background task does.
pub async fn unpack_dropins(app: &App) -> Result<(), ApiError> {
    for handle in app.shard_handles() {
        unpack_due(app, handle).await?;
    }
    Ok(())
}

async fn run(app: &App, handle: &ShardHandle, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        let created = app.dropins.created.notified();
        if let Err(error) = unpack_due(app, handle).await {
            let (shard, cause) = (&handle.shard.name, cause_text(&error));
            tracing::warn!(%shard, cause, "items of batches were not loaded; retrying soon");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = created => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

fn cause_text(error: &ApiError) -> Option<String> {
    let cause = error.cause().map(|ErrorCause(cause)| Arc::clone(cause));
    cause.map(|cause| error_chain::chain(cause.as_ref()))
}

/// Gives turns to all batches that are due, until none is. A batch whose turn fails never keeps
/// others from theirs: its lease ends later.
async fn unpack_due(app: &App, handle: &ShardHandle) -> Result<(), ApiError> {
    let mut last_organization = None;
    // A process that stops accepts no loads.
    while !app.is_draining() {
        let now = handle.shard.clock.now();
        let lease = lease_until(app, now + LEASE_TIME);
        let batch = dropin::claim(&handle.shard, lease, last_organization, now).await?;
        let Some(batch) = batch else {
            return Ok(());
        };
        last_organization = Some(batch.organization);
        match take_turn(app, handle, &batch).await {
            Ok(()) => app.dropins.failed_turns.clear(batch.group),
            Err(error) => handle_failed_turn(app, handle, &batch, &error).await?,
        }
    }
    Ok(())
}

/// Logs the failure. A batch that fails again and again is ended. A part of the service that is
/// away is no fault of the batch.
async fn handle_failed_turn(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    error: &ApiError,
) -> Result<(), ApiError> {
    let (shard, group, cause) = (&handle.shard.name, batch.group, cause_text(error));
    tracing::warn!(%shard, %group, cause, "a part of a batch was not loaded; retrying soon");
    if error.status() != StatusCode::INTERNAL_SERVER_ERROR
        || app.dropins.failed_turns.add(group) < MAX_FAILED_TURNS
    {
        return Ok(());
    }
    app.dropins.failed_turns.clear(group);
    tracing::error!(%shard, %group, "a batch failed, because its items cannot be stored");
    let message = "The items could not be stored. Send those without a result in a new batch.";
    let failure = json!({"code": "internal_error", "message": message}).to_string();
    let now = handle.shard.clock.now();
    Ok(dropin::fail(&handle.shard, batch, failure.into_bytes(), now).await?)
}

fn lease_until(app: &App, until: Timestamp) -> UnpackLease {
    UnpackLease {
        holder: app.dropins.holder,
        until,
    }
}

async fn take_turn(app: &App, handle: &ShardHandle, batch: &DropinBatch) -> Result<(), ApiError> {
    let end = load_items(app, handle, batch).await?;
    if end.place.unpacked >= batch.items {
        app.dropins.item_tries.forget(batch.group);
        return finish(handle, batch).await;
    }
    let lease = lease_until(app, end.next_turn_at);
    match dropin::advance(&handle.shard, batch.group, lease, end.place).await {
        // Another process has the batch, because this turn took longer than the lease.
        Ok(()) | Err(store::Error::Fenced) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn load_items(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
) -> Result<TurnEnd, ApiError> {
    let (shard, first) = (&handle.shard, batch.unpacked);
    let finished = TurnEnd {
        place: UnpackPlace {
            unpacked: batch.items,
            stalled_at: None,
        },
        next_turn_at: shard.clock.now(),
    };
    if first >= batch.items {
        return Ok(finished);
    }
    let callers = &app.dropins.callers;
    let now = shard.clock.now();
    let caller = callers.find(batch.organization, batch.project, batch.key, now);
    let caller = match caller.await? {
        BatchCaller::May(caller) => Some(caller),
        BatchCaller::Revoked => None,
        // The items were erased with the project.
        BatchCaller::Erased => return Ok(finished),
    };
    let block = parcel::read_block(shard, batch.project, batch.parcel, first).await?;
    let Some(block) = block else {
        fail_without_items(handle, batch).await?;
        return Ok(finished);
    };
    let items = block.items_from(first).take(MAX_ITEMS_PER_TURN);
    let items: Vec<PlacedItem> = items
        .map(|(position, bytes)| PlacedItem { position, bytes })
        .collect();
    match caller {
        Some(_) if batch.times.sealed_at.is_none() && batch.expires_at <= now => {
            round::expire_items(app, handle, batch, items).await
        }
        Some(caller) if batch.times.sealed_at.is_none() => {
            round::load_items(app, handle, batch, &caller, &items).await
        }
        // The caller may load no more, or the batch was cancelled: a sealed group takes no loads.
        Some(_) | None => round::cancel_items(app, handle, batch, items).await,
    }
}

/// A batch without the items that it has to load must not look completed.
async fn fail_without_items(handle: &ShardHandle, batch: &DropinBatch) -> Result<(), ApiError> {
    let (shard, group) = (&handle.shard, batch.group);
    tracing::error!(%group, "a batch failed, because its items were deleted before they were loaded");
    let message = "The items of the batch were deleted before all of them were loaded. Send those \
                   without a result in a new batch.";
    let failure = json!({"code": "items_deleted", "message": message}).to_string();
    Ok(dropin::fail(shard, batch, failure.into_bytes(), shard.clock.now()).await?)
}

/// Seals the group, which completes it if nothing is unfinished.
async fn finish(handle: &ShardHandle, batch: &DropinBatch) -> Result<(), ApiError> {
    let shard = &handle.shard;
    Ok(dropin::finish(shard, batch, shard.clock.now()).await?)
}

/// The place after results in the order of positions: after the last item before which none waits.
fn place_after(first: u64, results: &[ItemProgress]) -> u64 {
    let done = results.iter().take_while(|result| result.is_done());
    first + done.count() as u64
}
