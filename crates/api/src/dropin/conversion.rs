//! Converts the items of a batch by its format.

use domain::dropin::Facade;
use store::shard::dropin::DropinBatch;

use crate::dropin::item::{ConvertedItem, ItemFault};
use crate::dropin::{anthropic, openai};

pub(crate) fn convert_item(batch: &DropinBatch, item: &[u8]) -> Result<ConvertedItem, ItemFault> {
    match batch.facade {
        Facade::Anthropic => anthropic::convert_item(batch.options.as_deref(), item),
        Facade::OpenAi => openai::convert_item(batch.options.as_deref(), item),
    }
}
