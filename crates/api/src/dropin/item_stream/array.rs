//! Splits the array in one field of an object.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::{ItemStreamError, MAX_ENVELOPE_BYTES, MAX_ITEM_BYTES};

/// Where the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside the array.
    Envelope,
    /// In the array, before an item or the end of the array.
    BeforeItem { after_comma: bool },
    /// In the array, after an item.
    AfterItem,
    /// In an item, in so many open brackets.
    Item { depth: u32 },
}

/// Whether the next byte is in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Debug)]
pub(super) struct ArraySplitter {
    /// The field with its quotes.
    field: Vec<u8>,
    place: Place,
    quote: Quote,
    /// Open brackets outside the array.
    depth: u32,
    /// The body without its items.
    envelope: Vec<u8>,
    /// Where the last string of the outer object begins in the envelope.
    string_start: usize,
    /// The last token of the outer object was the name of the field, or its colon.
    is_at_field: bool,
    has_array: bool,
    item: Vec<u8>,
    found: u64,
}

impl ArraySplitter {
    pub(super) fn new(field: &str) -> Self {
        Self {
            field: format!("\"{field}\"").into_bytes(),
            place: Place::Envelope,
            quote: Quote::Outside,
            depth: 0,
            envelope: Vec::new(),
            string_start: 0,
            is_at_field: false,
            has_array: false,
            item: Vec::new(),
            found: 0,
        }
    }

    pub(super) fn split(
        &mut self,
        bytes: &[u8],
        items: &mut VecDeque<Vec<u8>>,
    ) -> Result<(), ItemStreamError> {
        for byte in bytes {
            match self.place {
                Place::Envelope => self.read_envelope(*byte)?,
                Place::BeforeItem { after_comma } => self.begin_item(*byte, after_comma)?,
                Place::AfterItem => self.end_of_item(*byte)?,
                Place::Item { depth } => {
                    if self.read_item(*byte, depth)? {
                        items.push_back(std::mem::take(&mut self.item));
                        self.found += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// The body without its items, if it is a JSON object with the array.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, ItemStreamError> {
        let envelope = std::mem::take(&mut self.envelope);
        let parsed = serde_json::from_slice::<Map<String, Value>>(&envelope);
        parsed.map_err(|_| ItemStreamError::NotJson)?;
        if self.has_array {
            Ok(envelope)
        } else {
            Err(ItemStreamError::NoItems)
        }
    }

    fn read_envelope(&mut self, byte: u8) -> Result<(), ItemStreamError> {
        if self.envelope.len() >= MAX_ENVELOPE_BYTES {
            return Err(ItemStreamError::EnvelopeTooLarge);
        }
        let start = self.envelope.len();
        self.envelope.push(byte);
        if self.quote != Quote::Outside || byte == b'"' {
            let was = self.quote;
            self.read_quoted(byte);
            if self.depth == 1 && was == Quote::Outside {
                self.string_start = start;
            } else if self.depth == 1 && self.quote == Quote::Outside {
                let name = self.envelope.get(self.string_start..);
                self.is_at_field = name == Some(self.field.as_slice());
            }
            return Ok(());
        }
        match byte {
            b'[' if self.depth == 1 && self.is_at_field && self.ends_with_colon() => {
                // A second array of this name would have items that the reader did not expect.
                if self.has_array {
                    return Err(ItemStreamError::NotJson);
                }
                self.has_array = true;
                self.place = Place::BeforeItem { after_comma: false };
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' => self.is_at_field = false,
            _ => {}
        }
        Ok(())
    }

    /// Whether a colon is before the bracket that was just read: `"a": "requests"` has none after.
    fn ends_with_colon(&self) -> bool {
        let before = self.envelope.split_last().map_or(&[][..], |(_, rest)| rest);
        before.trim_ascii_end().ends_with(b":")
    }

    fn begin_item(&mut self, byte: u8, after_comma: bool) -> Result<(), ItemStreamError> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b']' if !after_comma => self.end_array(),
            b'{' => {
                self.item.push(byte);
                self.place = Place::Item { depth: 1 };
            }
            b']' | b',' => return Err(ItemStreamError::NotJson),
            _ => return Err(ItemStreamError::NotAnObject { index: self.found }),
        }
        Ok(())
    }

    fn end_of_item(&mut self, byte: u8) -> Result<(), ItemStreamError> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' => self.place = Place::BeforeItem { after_comma: true },
            b']' => self.end_array(),
            _ => return Err(ItemStreamError::NotJson),
        }
        Ok(())
    }

    fn end_array(&mut self) {
        self.envelope.push(b']');
        self.is_at_field = false;
        self.place = Place::Envelope;
    }

    /// Whether the item is complete.
    fn read_item(&mut self, byte: u8, depth: u32) -> Result<bool, ItemStreamError> {
        if self.item.len() >= MAX_ITEM_BYTES {
            return Err(ItemStreamError::ItemTooLarge { index: self.found });
        }
        self.item.push(byte);
        if self.quote != Quote::Outside || byte == b'"' {
            self.read_quoted(byte);
            return Ok(false);
        }
        let depth = match byte {
            b'{' | b'[' => depth.saturating_add(1),
            b'}' | b']' => depth - 1,
            _ => depth,
        };
        self.place = if depth == 0 {
            Place::AfterItem
        } else {
            Place::Item { depth }
        };
        Ok(depth == 0)
    }

    const fn read_quoted(&mut self, byte: u8) {
        self.quote = match (self.quote, byte) {
            (Quote::Outside, b'"') | (Quote::Escaped, _) => Quote::Inside,
            (Quote::Inside, b'"') => Quote::Outside,
            (Quote::Inside, b'\\') => Quote::Escaped,
            (Quote::Outside | Quote::Inside, _) => self.quote,
        };
    }
}
