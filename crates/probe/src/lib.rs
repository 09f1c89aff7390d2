//! Reads what strangers uploaded, as far as is needed to know what it is.
//!
//! Only the child `longshored probe` may call this, from inside its [`sandbox`]. What cannot be
//! read, is longer than its kind may be, or says nothing of its own size is refused: a file that
//! nobody understood is never ready.
//!
//! Images and PDF are read by parsers that are well kept. Of the parsers for video none reads a
//! stream that cannot be sought in within fixed memory, so the walkers of [`iso`] and
//! [`matroska`] are our own: they look at headers and tables, never at a frame.

mod images;
mod iso;
mod matroska;
mod pdf;
mod source;
mod text;
mod video;

pub mod sandbox;

#[cfg(any(test, feature = "corpus"))]
pub mod corpus;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::file::{Flaw, MediaType, Structure};

use crate::source::Source;

/// What the bytes are, or why they are refused. A parser that panics has refused them.
pub fn read(media_type: MediaType, input: impl Read) -> Result<Structure, Flaw> {
    let read = AssertUnwindSafe(|| read_unguarded(media_type, input));
    catch_unwind(read).unwrap_or_else(|_| Err(media_type.kind().malformed()))
}

/// The same, with panics let through: whoever looks for them must see them.
pub fn read_unguarded(media_type: MediaType, input: impl Read) -> Result<Structure, Flaw> {
    let source = Source::new(input, media_type.kind().most_bytes());
    match media_type {
        MediaType::Jpeg | MediaType::Png | MediaType::Gif | MediaType::Webp => {
            images::read(media_type, source)
        }
        MediaType::Pdf => pdf::read(source),
        MediaType::Text | MediaType::Csv | MediaType::Markdown => text::read(source),
        MediaType::Mp4 | MediaType::QuickTime => iso::read(source),
        MediaType::Webm => matroska::read(source, b"webm"),
        MediaType::Matroska => matroska::read(source, b"matroska"),
    }
}
