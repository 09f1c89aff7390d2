//! Parses uploaded files, as far as is needed to validate them and to size a hold.
//!
//! Only the child `longshored probe` may call this, inside its [`sandbox`]. A file is refused if it
//! cannot be parsed, is longer than its kind may be, or does not state its dimensions or length.
//!
//! Images and PDF are read by well maintained parsers. No video parser reads a stream without
//! seeking and within fixed memory, so we wrote the walkers of [`mp4`] and [`matroska`]. They read
//! headers and tables, never a frame.

mod bounded_reader;
mod images;
mod matroska;
mod mp4;
mod pdf;
mod text;
mod video;

pub mod sandbox;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::file::{FileFailureReason, FileStructure, MediaType};

use crate::bounded_reader::BoundedReader;

/// The structure of the file, or why it is refused. A parser that panics refuses the file.
pub fn read(media_type: MediaType, input: impl Read) -> Result<FileStructure, FileFailureReason> {
    let read = AssertUnwindSafe(|| read_unguarded(media_type, input));
    catch_unwind(read).unwrap_or_else(|_| Err(media_type.kind().malformed_reason()))
}

/// The same without catching panics, for tests and fuzzing.
pub fn read_unguarded(
    media_type: MediaType,
    input: impl Read,
) -> Result<FileStructure, FileFailureReason> {
    let source = BoundedReader::new(input, media_type.kind().max_bytes());
    match media_type {
        MediaType::Jpeg | MediaType::Png | MediaType::Gif | MediaType::Webp => {
            images::read(media_type, source)
        }
        MediaType::Pdf => pdf::read(source),
        MediaType::Text | MediaType::Csv | MediaType::Markdown => text::read(source),
        MediaType::Mp4 | MediaType::QuickTime => mp4::read(source),
        MediaType::Webm => matroska::read(source, b"webm"),
        MediaType::Matroska => matroska::read(source, b"matroska"),
    }
}
