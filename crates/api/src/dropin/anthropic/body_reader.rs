//! Reads the body of a create: checks each item's envelope, adds up what the items would hold, and
//! stores them in a parcel, while the body arrives.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use domain::dropin::{BATCH_WINDOW, Facade};
use domain::id::{GroupId, ParcelId};
use http_body_util::BodyExt as _;
use rand::RngExt as _;
use serde_json::{Map, Value};
use store::shard::dropin::RepeatIdentity;
use store::shard::parcel::{self, NewParcel, ParcelRefusal, ParcelRow, ParcelWriter};

use super::convert::convert_item;
use super::error::AnthropicError;
use crate::caller::Caller;
use crate::cargo::item_load;
use crate::dropin::funds::BatchHold;
use crate::dropin::item_stream::{ItemStream, ItemStreamError};
use crate::dropin::raw_fields::{has_too_many_values, read_fields};
use crate::dropin::repeats::RepeatReader;
use crate::json_budget::MAX_JSON_VALUES;
use crate::request_body;
use crate::state::{App, ShardHandle};

const MAX_CUSTOM_ID_BYTES: usize = 64;

/// A body that was read to its end.
#[derive(Debug)]
pub(super) struct ReadBody {
    pub(super) parcel: ParcelRow,
    pub(super) hold: BatchHold,
    pub(super) repeat: RepeatIdentity,
    /// The fields beside the items.
    pub(super) envelope: Map<String, Value>,
}

pub(super) struct BodyReader<'a> {
    app: &'a App,
    caller: &'a Caller,
    /// The id that the batch will have.
    group: GroupId,
    writer: ParcelWriter,
    hold: BatchHold,
    custom_ids: HashSet<String>,
    received: u64,
    /// What the parcel may have.
    max_parcel_bytes: u64,
}

impl<'a> BodyReader<'a> {
    pub(super) async fn begin(
        app: &'a App,
        handle: &ShardHandle,
        caller: &'a Caller,
        group: GroupId,
    ) -> Result<Self, AnthropicError> {
        let now = handle.shard.clock.now();
        let (organization, project) = (caller.organization, caller.project);
        let remaining = parcel::remaining_bytes(&handle.shard, organization, project, now).await?;
        let max_parcel_bytes = remaining.map_err(quota_error)?;
        let new = NewParcel {
            id: ParcelId::new(now, caller.berth, rand::rng().random()),
            organization,
            project,
            facade: Facade::Anthropic,
            filename: None,
            expires_at: now + BATCH_WINDOW,
        };
        let writer = ParcelWriter::begin(Arc::clone(&handle.shard), new, now).await?;
        Ok(Self {
            app,
            caller,
            group,
            writer,
            hold: BatchHold::default(),
            custom_ids: HashSet::new(),
            received: 0,
            max_parcel_bytes,
        })
    }

    pub(super) async fn read(
        mut self,
        handle: &ShardHandle,
        mut body: Body,
        mut repeat: RepeatReader,
    ) -> Result<ReadBody, AnthropicError> {
        let mut stream = ItemStream::array_in("requests");
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| request_body::body_error(&error))?;
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            self.count_bytes(piece.len())?;
            repeat.push(&piece);
            stream.push(&piece).map_err(stream_error)?;
            while let Some(item) = stream.next_item() {
                self.accept(&item).await?;
            }
        }
        let envelope = stream.finish().map_err(stream_error)?;
        let envelope = serde_json::from_slice(&envelope);
        let envelope = envelope.map_err(|_| stream_error(ItemStreamError::NotJson))?;
        if self.custom_ids.is_empty() {
            return Err(AnthropicError::invalid(
                "requests: at least 1 item is required",
            ));
        }
        let now = handle.shard.clock.now();
        Ok(ReadBody {
            parcel: self.writer.finish(now).await?,
            hold: self.hold,
            repeat: repeat.finish(),
            envelope,
        })
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), AnthropicError> {
        self.received += bytes as u64;
        let max_bytes = Facade::Anthropic.max_bytes();
        if self.received > max_bytes {
            let message = format!("The request is larger than {max_bytes} bytes.");
            return Err(AnthropicError::too_large(message));
        }
        Ok(())
    }

    /// A wrong envelope refuses the request. Wrong params are the result of their item.
    async fn accept(&mut self, item: &[u8]) -> Result<(), AnthropicError> {
        let position = self.writer.parcel().items;
        let max_items = Facade::Anthropic.max_items();
        if position >= max_items {
            let message = format!("requests: at most {max_items} items are accepted");
            return Err(AnthropicError::too_large(message));
        }
        let custom_id = check_envelope(item, position)?;
        if !self.custom_ids.insert(custom_id) {
            let message = format!("requests.{position}.custom_id: another item has this custom_id");
            return Err(AnthropicError::invalid(message));
        }
        if let Ok(converted) = convert_item(None, item) {
            let load = converted.into_load(self.group, position);
            if let Ok(hold) = item_load::check_item(self.app, self.caller, &load) {
                self.hold.add(&hold);
            }
        }
        self.writer.push(item).await?;
        if self.writer.parcel().bytes > self.max_parcel_bytes {
            return Err(quota_error(ParcelRefusal::StorageFull));
        }
        Ok(())
    }
}

fn quota_error(refusal: ParcelRefusal) -> AnthropicError {
    match refusal {
        ParcelRefusal::StorageFull => AnthropicError::limit_reached(refusal.to_string()),
        ParcelRefusal::TooManyIncomplete => AnthropicError::rate_limited(refusal.to_string()),
    }
}

/// Returns the custom id of an item.
fn check_envelope(item: &[u8], position: u64) -> Result<String, AnthropicError> {
    let invalid = |what: &str| AnthropicError::invalid(format!("requests.{position}{what}"));
    if has_too_many_values(item) {
        let message = format!(": at most {MAX_JSON_VALUES} JSON values are accepted in an item");
        return Err(invalid(&message));
    }
    let fields = read_fields(item);
    let fields = fields.map_err(|_| invalid(": Input should be a JSON object"))?;
    let extra = fields
        .keys()
        .find(|name| !["custom_id", "params"].contains(&name.as_str()));
    if let Some(name) = extra {
        return Err(invalid(&format!(".{name}: this field is not supported")));
    }
    let params = fields.get("params");
    if !params.is_some_and(|params| params.get().starts_with('{')) {
        return Err(invalid(".params: Input should be an object"));
    }
    let custom_id = fields.get("custom_id");
    let custom_id = custom_id.and_then(|text| serde_json::from_str::<String>(text.get()).ok());
    let custom_id = custom_id.filter(|text| is_custom_id(text));
    let wrong = ".custom_id: 1 to 64 letters, digits, hyphens and underscores are accepted";
    custom_id.ok_or_else(|| invalid(wrong))
}

fn is_custom_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=MAX_CUSTOM_ID_BYTES).contains(&text.len()) && text.bytes().all(is_allowed)
}

fn stream_error(error: ItemStreamError) -> AnthropicError {
    match error {
        ItemStreamError::ItemTooLarge { .. } | ItemStreamError::EnvelopeTooLarge => {
            AnthropicError::too_large(error.to_string())
        }
        ItemStreamError::NotAnObject { index } => {
            AnthropicError::invalid(format!("requests.{index}: Input should be an object"))
        }
        ItemStreamError::NoItems => AnthropicError::invalid("requests: Field required"),
        ItemStreamError::NotJson => AnthropicError::invalid(error.to_string()),
    }
}
