//! One turn of a batch: some items, loaded together, and what became of each.

use chrono::TimeDelta;
use domain::callback_url::CallbackUrl;
use domain::id::CargoId;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::time::Timestamp;
use futures::future::join_all;
use rand::RngExt as _;
use store::shard::dropin::{self, DropinBatch, EndedMember, UnpackPlace};

use super::item::{ItemProgress, PlacedItem, load_one, result_of};
use super::{MAX_STALL, STALL_PAUSE, TurnEnd, place_after};
use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::cargo::item_load;
use crate::dropin::conversion::convert_item;
use crate::dropin::item::ItemFault;
use crate::state::{App, ShardHandle};

/// How many items are loaded at once. Items after one that has to wait are checked for nothing, so
/// these are few.
const MAX_CONCURRENT_ITEMS: usize = 64;

/// The text of items that were cancelled before they were loaded.
const CANCELLED: &str = "cancelled";
/// The text of items that were not loaded when the window of their batch ended. Counts of expired
/// items know it by its beginning.
const WINDOW_ENDED: &str = "the deadline of the batch has passed";

/// Loads items until one has to wait.
pub(super) async fn load_items(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    caller: &Caller,
    items: &[PlacedItem],
) -> Result<TurnEnd, ApiError> {
    let clock = &handle.shard.clock;
    let (mut unpacked, mut stalled_at) = (batch.unpacked, batch.stalled_at);
    for part in items.chunks(MAX_CONCURRENT_ITEMS) {
        let loads = part
            .iter()
            .map(|item| load_one(app, caller.clone(), batch, item));
        // They are polled in their order, so the first ones get the tokens if there are too few.
        let mut results: Vec<ItemProgress> = join_all(loads).await;
        let now = clock.now();
        let has_stalled = stalled_at.is_some_and(|since| since + MAX_STALL <= now);
        let lacks_funds = |result: &ItemProgress| matches!(result, ItemProgress::NoFunds(_));
        let gives_up = has_stalled && results.iter().any(lacks_funds);
        if has_stalled {
            results = results.into_iter().map(give_up_funds).collect();
        }
        let results = charge_faults(app, caller, results).await;
        store_faults(app, handle, batch, part, &results).await?;
        count_items(batch, &results);
        unpacked = place_after(unpacked, &results);
        if !gives_up {
            stalled_at = stalled_after(stalled_at, &results, now);
        }
        let wait = results.into_iter().find(|result| !result.is_done());
        let next_turn_at = match wait {
            None => continue,
            Some(ItemProgress::Wait(pause)) => now + pause,
            Some(ItemProgress::NoFunds(_)) => now + STALL_PAUSE,
            Some(ItemProgress::Sealed | ItemProgress::Loaded | ItemProgress::Fault(_)) => now,
        };
        return Ok(turn_end(unpacked, stalled_at, next_turn_at));
    }
    Ok(turn_end(unpacked, stalled_at, clock.now()))
}

/// Stores items of a cancelled batch, or of a caller that may load no more, as cancelled.
pub(super) async fn cancel_items(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    items: Vec<PlacedItem>,
) -> Result<TurnEnd, ApiError> {
    let end = FailureCode::Cancelled.with_message(CANCELLED);
    end_items(app, handle, batch, items, &end, "cancelled").await
}

/// Stores items as expired: the window of their batch ended before they were loaded.
pub(super) async fn expire_items(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    items: Vec<PlacedItem>,
) -> Result<TurnEnd, ApiError> {
    let end = FailureCode::DeadlineExceeded.with_message(WINDOW_ENDED);
    end_items(app, handle, batch, items, &end, "failed").await
}

/// Stores items that are not loaded any more, and counts them with this label. Those that were
/// loaded before stay as they are.
async fn end_items(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    items: Vec<PlacedItem>,
    end: &CargoFailure,
    result: &'static str,
) -> Result<TurnEnd, ApiError> {
    let count = items.len() as u64;
    let mut members = Vec::with_capacity(items.len());
    for item in items {
        let (custom_id, model) = match convert_item(batch, &item.bytes) {
            Ok(converted) => (converted.custom_id.clone(), converted.model()),
            Err(fault) => (fault.custom_id, fault.model),
        };
        let named = ItemFault {
            custom_id,
            model,
            message: end.message.clone(),
        };
        members.push(ended_member(app, handle, batch, &item, named, end.code).await?);
    }
    let now = handle.shard.clock.now();
    dropin::insert_ended(&handle.shard, batch, members, now).await?;
    metrics::counter!("longshore_dropin_items_total", "facade" => batch.facade.as_str(), "result" => result)
        .increment(count);
    Ok(turn_end(batch.unpacked + count, None, now))
}

const fn turn_end(
    unpacked: u64,
    stalled_at: Option<Timestamp>,
    next_turn_at: Timestamp,
) -> TurnEnd {
    TurnEnd {
        place: UnpackPlace {
            unpacked,
            stalled_at,
        },
        next_turn_at,
    }
}

/// Since when the next item waits for credit, after these results. A load shows that there is credit
/// again. A pause for another reason does not: it neither starts nor ends the wait for credit.
fn stalled_after(
    stalled_at: Option<Timestamp>,
    results: &[ItemProgress],
    now: Timestamp,
) -> Option<Timestamp> {
    // Items after the one that waits may have been loaded in an earlier turn.
    let mut done = results.iter().take_while(|result| result.is_done());
    let has_loaded = done.any(|result| *result == ItemProgress::Loaded);
    let since = stalled_at.filter(|_| !has_loaded);
    match results.iter().find(|result| !result.is_done()) {
        Some(ItemProgress::NoFunds(_)) => since.or(Some(now)),
        Some(ItemProgress::Wait(_)) | None => since,
        Some(ItemProgress::Sealed | ItemProgress::Loaded | ItemProgress::Fault(_)) => None,
    }
}

/// After an hour without credit, an item fails.
fn give_up_funds(result: ItemProgress) -> ItemProgress {
    match result {
        ItemProgress::NoFunds(fault) => ItemProgress::Fault(fault),
        ItemProgress::Loaded
        | ItemProgress::Fault(_)
        | ItemProgress::Wait(_)
        | ItemProgress::Sealed => result,
    }
}

/// A fault is stored as a cargo, so it takes a token of the plan as a load does. Faults after an
/// item that waits are stored in a later turn, so that they never take the token that it needs.
async fn charge_faults(
    app: &App,
    caller: &Caller,
    results: Vec<ItemProgress>,
) -> Vec<ItemProgress> {
    let mut is_waiting = false;
    let mut charged = Vec::with_capacity(results.len());
    for result in results {
        let result = match result {
            ItemProgress::Fault(_) if is_waiting => ItemProgress::Wait(TimeDelta::zero()),
            ItemProgress::Fault(fault) => match item_load::spend_token(app, caller).await {
                Ok(()) => ItemProgress::Fault(fault),
                Err(error) => result_of(error, fault.custom_id, fault.model),
            },
            other @ (ItemProgress::Loaded
            | ItemProgress::NoFunds(_)
            | ItemProgress::Wait(_)
            | ItemProgress::Sealed) => other,
        };
        is_waiting |= !result.is_done();
        charged.push(result);
    }
    charged
}

/// Stores the items that cannot be loaded, each with its error as its result.
async fn store_faults(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    items: &[PlacedItem],
    results: &[ItemProgress],
) -> Result<(), ApiError> {
    let mut members = Vec::new();
    for (item, result) in items.iter().zip(results) {
        if let ItemProgress::Fault(fault) = result {
            let code = FailureCode::RequestRejected;
            let member = ended_member(app, handle, batch, item, fault.clone(), code).await?;
            members.push(member);
        }
    }
    if members.is_empty() {
        return Ok(());
    }
    let now = handle.shard.clock.now();
    Ok(dropin::insert_ended(&handle.shard, batch, members, now).await?)
}

async fn ended_member(
    app: &App,
    handle: &ShardHandle,
    batch: &DropinBatch,
    item: &PlacedItem,
    fault: ItemFault,
    code: FailureCode,
) -> Result<EndedMember, ApiError> {
    let now = handle.shard.clock.now();
    let model = item_load::stored_model(&app.catalogue.borrow(), &fault.model);
    let lane = item_load::find_any_lane(app, handle, &model, now).await?;
    let callback = convert_item(batch, &item.bytes).ok();
    let callback = callback.and_then(|converted| converted.callback_url);
    let callback = callback.and_then(|url| CallbackUrl::parse(&url, app.rules.schemes).ok());
    Ok(EndedMember {
        cargo: CargoId::new(now, batch.group.berth(), rand::rng().random()),
        position: item.position,
        custom_id: custom_id_of(item.position, fault.custom_id),
        lane,
        model,
        request: item.bytes.clone(),
        callback: callback.map(|url| (url.as_str().to_owned(), url.host().to_owned())),
        failure: code.with_message(fault.message),
    })
}

/// An item that cannot be read has no name, and names are unique in a group.
fn custom_id_of(position: u64, custom_id: String) -> String {
    if custom_id.is_empty() {
        format!("item-{position}")
    } else {
        custom_id
    }
}

fn count_items(batch: &DropinBatch, results: &[ItemProgress]) {
    let facade = batch.facade.as_str();
    let count = |is: fn(&ItemProgress) -> bool| results.iter().filter(|it| is(it)).count() as u64;
    metrics::counter!("longshore_dropin_items_total", "facade" => facade, "result" => "loaded")
        .increment(count(|it| matches!(it, ItemProgress::Loaded)));
    metrics::counter!("longshore_dropin_items_total", "facade" => facade, "result" => "failed")
        .increment(count(|it| matches!(it, ItemProgress::Fault(_))));
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn only_a_load_ends_the_wait_for_credit() {
        let start = Timestamp::default();
        let now = start + TimeDelta::minutes(10);
        let no_funds = || {
            ItemProgress::NoFunds(ItemFault {
                custom_id: "a".into(),
                model: "m".into(),
                message: "why".into(),
            })
        };
        let wait = || ItemProgress::Wait(TimeDelta::seconds(1));
        let after = |results: &[ItemProgress]| stalled_after(Some(start), results, now);
        assert_eq!(stalled_after(None, &[no_funds()], now), Some(now));
        assert_eq!(after(&[no_funds()]), Some(start));
        // The bucket is empty, or a part of the service is away.
        assert_eq!(after(&[wait()]), Some(start));
        assert_eq!(stalled_after(None, &[wait()], now), None);
        // There was credit for the first item, so the wait of the next one begins now.
        assert_eq!(after(&[ItemProgress::Loaded, no_funds()]), Some(now));
        assert_eq!(after(&[ItemProgress::Loaded, wait()]), None);
        assert_eq!(after(&[ItemProgress::Loaded]), None);
        // An item behind the one that waits needs less.
        assert_eq!(after(&[no_funds(), ItemProgress::Loaded]), Some(start));
    }
}
