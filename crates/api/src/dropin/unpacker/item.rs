//! One item: its load, and what became of it.

use axum::http::StatusCode;
use chrono::TimeDelta;
use domain::error_chain;
use store::shard::dropin::DropinBatch;

use crate::api_error::{ApiError, ErrorCause, ErrorCode};
use crate::caller::Caller;
use crate::cargo::item_load;
use crate::dropin::conversion::convert_item;
use crate::dropin::error_text::{code_of, message_of};
use crate::dropin::item::ItemFault;
use crate::item_tries::ItemPlace;
use crate::state::App;

/// How long to wait if the error does not say so.
const DEFAULT_PAUSE: TimeDelta = TimeDelta::seconds(1);

/// How often an item is loaded that fails with an internal error: the database may refuse its row
/// every time.
const MAX_TRIES: u32 = 3;
/// How long to wait before the next try.
const TRY_PAUSE: TimeDelta = TimeDelta::seconds(20);

/// An item as it came, and its place in the batch.
#[derive(Debug)]
pub(super) struct PlacedItem {
    pub(super) position: u64,
    pub(super) bytes: Vec<u8>,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemProgress {
    /// It is loaded, now or earlier.
    Loaded,
    /// It can never be loaded.
    Fault(ItemFault),
    /// There is not enough credit, quota or spending cap for it.
    NoFunds(ItemFault),
    /// It is tried again after this time: the bucket is empty, or a part of the service is away.
    Wait(TimeDelta),
    /// The group is sealed: the batch was cancelled meanwhile.
    Sealed,
}

impl ItemProgress {
    pub(super) const fn is_done(&self) -> bool {
        match self {
            Self::Loaded | Self::Fault(_) => true,
            Self::NoFunds(_) | Self::Wait(_) | Self::Sealed => false,
        }
    }
}

/// Loads one item.
pub(super) async fn load_one(
    app: &App,
    caller: Caller,
    batch: &DropinBatch,
    item: &PlacedItem,
) -> ItemProgress {
    let converted = match convert_item(batch, &item.bytes) {
        Ok(converted) => converted,
        Err(fault) => return ItemProgress::Fault(fault),
    };
    let (custom_id, model) = (converted.custom_id.clone(), converted.model());
    let body = converted.into_load(batch.group, item.position);
    let loaded = match item_load::check_item(app, &caller, &body) {
        Ok(_) => item_load::load_item(app, caller, body).await,
        Err(error) => Err(error),
    };
    match loaded {
        Ok(_) => ItemProgress::Loaded,
        Err(error) if error.status() == StatusCode::INTERNAL_SERVER_ERROR => {
            let (group, position) = (batch.group, item.position);
            let cause = error.cause();
            let cause = cause.map(|ErrorCause(cause)| error_chain::chain(cause.as_ref()));
            tracing::warn!(%group, position, cause, "an item of a batch was not stored");
            let tries = app.dropins.item_tries.add(ItemPlace { group, position });
            after_internal_error(tries, custom_id, model)
        }
        Err(error) => result_of(error, custom_id, model),
    }
}

/// What an error of a load means for its item.
pub(super) fn result_of(error: ApiError, custom_id: String, model: String) -> ItemProgress {
    let (status, retry_after) = (error.status(), error.retry_after_seconds());
    let detail = error.into_body().detail;
    let code = code_of(&detail);
    let is = |expected: ErrorCode| code == Some(expected.as_str());
    let fault = || ItemFault {
        custom_id,
        model,
        message: message_of(&detail),
    };
    let is_used_up = is(ErrorCode::InsufficientCredits)
        || is(ErrorCode::TokenQuotaExceeded)
        || is(ErrorCode::KeySpendingCapExceeded);
    if status == StatusCode::TOO_MANY_REQUESTS && is_used_up {
        return ItemProgress::NoFunds(fault());
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let seconds = retry_after.and_then(|it| i64::try_from(it).ok());
        return ItemProgress::Wait(seconds.map_or(DEFAULT_PAUSE, TimeDelta::seconds));
    }
    // Stored earlier: as a load whose text has changed since, or as a fault.
    if is(ErrorCode::PositionTaken) || is(ErrorCode::CustomIdReused) {
        return ItemProgress::Loaded;
    }
    // The retention or an erasure has deleted the group: no caller can read a result.
    if is(ErrorCode::GroupNotFound) {
        return ItemProgress::Loaded;
    }
    if is(ErrorCode::GroupSealed) {
        return ItemProgress::Sealed;
    }
    ItemProgress::Fault(fault())
}

/// An error that no caller can change ends an item at its last try.
fn after_internal_error(tries: u32, custom_id: String, model: String) -> ItemProgress {
    if tries < MAX_TRIES {
        return ItemProgress::Wait(TRY_PAUSE);
    }
    ItemProgress::Fault(ItemFault {
        custom_id,
        model,
        message: "The item could not be stored. Change it, or send it again in a new batch.".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(error: ApiError) -> ItemProgress {
        result_of(error, "a".into(), "m".into())
    }

    #[test]
    fn an_internal_error_ends_an_item_at_the_third_try() {
        let after = |tries| after_internal_error(tries, "a".into(), "m".into());
        assert_eq!(after(1), ItemProgress::Wait(TRY_PAUSE));
        assert_eq!(after(2), ItemProgress::Wait(TRY_PAUSE));
        assert!(matches!(after(3), ItemProgress::Fault(fault) if fault.custom_id == "a"));
    }

    #[test]
    fn faults_end_an_item_and_limits_do_not() {
        let coded = |code| ApiError::with_code(code, "why");
        let fault = ItemFault {
            custom_id: "a".into(),
            model: "m".into(),
            message: "why".into(),
        };
        assert_eq!(
            read(coded(ErrorCode::InvalidModel)),
            ItemProgress::Fault(fault.clone())
        );
        assert_eq!(
            read(coded(ErrorCode::InsufficientCredits)),
            ItemProgress::NoFunds(fault)
        );
        assert_eq!(read(coded(ErrorCode::GroupSealed)), ItemProgress::Sealed);
        assert_eq!(read(coded(ErrorCode::CustomIdReused)), ItemProgress::Loaded);
        let limited = read(coded(ErrorCode::RateLimitExceeded));
        assert_eq!(limited, ItemProgress::Wait(TimeDelta::seconds(1)));
        let away = read(ApiError::unavailable("away", 5));
        assert_eq!(away, ItemProgress::Wait(TimeDelta::seconds(5)));
    }
}
