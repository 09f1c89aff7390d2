//! Splits a body into items while it arrives. One item is in memory, never the whole body.
//!
//! It reads only what it needs to find the ends of items: strings and brackets. Whether an item is
//! JSON is checked by its reader, and whether the rest is JSON by [`ItemStream::finish`].

use std::collections::VecDeque;

mod array;
mod lines;

use crate::dropin::item_stream::array::ArraySplitter;
use crate::dropin::item_stream::lines::LineSplitter;

/// The largest item.
pub(crate) const MAX_ITEM_BYTES: usize = 10 << 20;
/// The most bytes of a body outside its items.
const MAX_ENVELOPE_BYTES: usize = 64 << 10;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ItemStreamError {
    #[error("item {index} is larger than {} bytes", MAX_ITEM_BYTES)]
    ItemTooLarge { index: u64 },
    #[error("item {index} is not a JSON object")]
    NotAnObject { index: u64 },
    #[error(
        "the fields beside the items are larger than {} bytes",
        MAX_ENVELOPE_BYTES
    )]
    EnvelopeTooLarge,
    #[error("the body is not JSON, or it ended too early")]
    NotJson,
    #[error("the body has no list of items")]
    NoItems,
}

/// A body that is being split.
#[derive(Debug)]
pub(crate) struct ItemStream {
    splitter: Splitter,
    items: VecDeque<Vec<u8>>,
    /// The first bytes, until it is known whether they are a byte order mark.
    start: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Splitter {
    Array(ArraySplitter),
    Lines(LineSplitter),
}

impl ItemStream {
    /// The body is a JSON object, and its items are the objects of the array in this field.
    pub(crate) fn array_in(field: &'static str) -> Self {
        Self::new(Splitter::Array(ArraySplitter::new(field)))
    }

    /// Each line is an item. Line breaks and blank lines stay with the items, so that all items
    /// together are the body, apart from a byte order mark and blank lines at the end.
    pub(crate) fn lines() -> Self {
        Self::new(Splitter::Lines(LineSplitter::default()))
    }

    fn new(splitter: Splitter) -> Self {
        Self {
            splitter,
            items: VecDeque::new(),
            start: Some(Vec::new()),
        }
    }

    /// Reads the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ItemStreamError> {
        let Some(mut start) = self.start.take() else {
            return self.split(bytes);
        };
        start.extend_from_slice(bytes);
        if start.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&start) {
            self.start = Some(start);
            return Ok(());
        }
        let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
        self.split(text)
    }

    /// The next complete item of what was read.
    pub(crate) fn next_item(&mut self) -> Option<Vec<u8>> {
        self.items.pop_front()
    }

    /// The body has ended. Take the remaining items after it. Returns the body without its items,
    /// which is JSON if the items are in an array, and empty if they are lines.
    pub(crate) fn finish(&mut self) -> Result<Vec<u8>, ItemStreamError> {
        if let Some(start) = self.start.take() {
            self.split(&start)?;
        }
        match &mut self.splitter {
            Splitter::Array(splitter) => splitter.finish(),
            Splitter::Lines(splitter) => {
                self.items.extend(splitter.finish());
                Ok(Vec::new())
            }
        }
    }

    fn split(&mut self, bytes: &[u8]) -> Result<(), ItemStreamError> {
        match &mut self.splitter {
            Splitter::Array(splitter) => splitter.split(bytes, &mut self.items),
            Splitter::Lines(splitter) => splitter.split(bytes, &mut self.items),
        }
    }
}

#[cfg(test)]
mod tests;
