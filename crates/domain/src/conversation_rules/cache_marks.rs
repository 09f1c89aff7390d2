//! Cache marks: at most four, and those of an hour before those of five minutes.

use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::cache_control::{CacheControl, CacheTtl};
use crate::params::content::{ContentBlock, SystemPrompt};

const MAX_CACHE_MARKS: usize = 4;

/// The marks so far, in the order in which a provider reads the prompt: tools, system, messages.
#[derive(Debug, Default)]
struct MarkOrder {
    count: usize,
    has_five_minutes: bool,
}

pub(super) fn check(chat: &ChatParams, refusals: &mut RefusalList) {
    let mut order = MarkOrder::default();
    let tools = FieldPath::PARAMS.key("tools");
    for (index, tool) in chat.tools.iter().enumerate() {
        order.add(tool.cache_control, tools.index(index), refusals);
    }
    let system = FieldPath::PARAMS.key("system");
    let blocks = chat.system.as_ref().map(SystemPrompt::blocks);
    for (index, block) in blocks.unwrap_or_default().iter().enumerate() {
        order.add(block.cache_control(), system.index(index), refusals);
    }
    let messages = FieldPath::PARAMS.key("messages");
    for (index, message) in chat.messages.iter().enumerate() {
        let message_place = messages.index(index);
        let content = message_place.key("content");
        for (index, block) in message.content.blocks().iter().enumerate() {
            order.add_block(block, content.index(index), refusals);
        }
    }
    // This mark is for the last block.
    order.add(chat.cache_control, FieldPath::PARAMS, refusals);
}

impl MarkOrder {
    fn add_block(
        &mut self,
        block: &ContentBlock,
        place: FieldPath<'_>,
        refusals: &mut RefusalList,
    ) {
        let content = place.key("content");
        for (index, inner) in block.nested().iter().enumerate() {
            self.add(inner.cache_control(), content.index(index), refusals);
        }
        self.add(block.cache_control(), place, refusals);
    }

    fn add(
        &mut self,
        mark: Option<CacheControl>,
        place: FieldPath<'_>,
        refusals: &mut RefusalList,
    ) {
        let Some(mark) = mark else {
            return;
        };
        self.count += 1;
        let mark_place = place.key("cache_control");
        if self.count > MAX_CACHE_MARKS {
            let message =
                format!("A request may have at most {MAX_CACHE_MARKS} cache_control marks");
            refusals.add(mark_place, message);
        }
        match mark.ttl() {
            CacheTtl::FiveMinutes => self.has_five_minutes = true,
            CacheTtl::OneHour if self.has_five_minutes => {
                let message = "Marks with ttl 1h must come before those with 5m, in the order \
                               tools, system, messages";
                refusals.add(mark_place.key("ttl"), message);
            }
            CacheTtl::OneHour => {}
        }
    }
}
