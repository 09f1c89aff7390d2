//! Splits lines.

use std::collections::VecDeque;

use super::{ItemStreamError, MAX_ITEM_BYTES};

#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The line so far, after the blank lines before it. They stay, so that errors name the lines
    /// of the file.
    line: Vec<u8>,
    /// Whether the line so far has more than white space. Each piece is looked at once: reading the
    /// blank lines again at every line break would take quadratic time.
    has_content: bool,
    found: u64,
}

impl LineSplitter {
    pub(super) fn split(
        &mut self,
        bytes: &[u8],
        items: &mut VecDeque<Vec<u8>>,
    ) -> Result<(), ItemStreamError> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.has_content |= !is_blank(piece);
            self.line.extend_from_slice(piece);
            if self.line.len() > MAX_ITEM_BYTES {
                return Err(ItemStreamError::ItemTooLarge { index: self.found });
            }
            if piece.ends_with(b"\n") && self.has_content {
                self.has_content = false;
                items.push_back(std::mem::take(&mut self.line));
                self.found += 1;
            }
        }
        Ok(())
    }

    /// The last line, if it has no line break.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        std::mem::take(&mut self.has_content).then_some(line)
    }
}

fn is_blank(piece: &[u8]) -> bool {
    piece.iter().all(u8::is_ascii_whitespace)
}
