//! Images: reads the dimensions in the header, and checks that the file is complete.
//!
//! No pixel is decoded. The header has all that a hold needs, and a decoder can turn a small file
//! into a large allocation.

mod completeness;
mod header;

use std::io::Read;

use domain::file::{FileFailureReason, FileStructure, MediaType};

use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};

use header::read_header;

const MAX_SIDE_PIXELS: u32 = 50_000;
/// Above this, even one byte per pixel is a decompression bomb.
const MAX_PIXELS: u64 = 1 << 28;

#[derive(Debug, Clone, Copy)]
enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageFormat {
    const fn of(media_type: MediaType) -> Option<Self> {
        Some(match media_type {
            MediaType::Png => Self::Png,
            MediaType::Jpeg => Self::Jpeg,
            MediaType::Gif => Self::Gif,
            MediaType::Webp => Self::Webp,
            MediaType::Pdf
            | MediaType::Text
            | MediaType::Csv
            | MediaType::Markdown
            | MediaType::Mp4
            | MediaType::QuickTime
            | MediaType::Webm
            | MediaType::Matroska => return None,
        })
    }
}

pub(crate) fn read<R: Read>(
    media_type: MediaType,
    source: BoundedReader<R>,
) -> std::result::Result<FileStructure, FileFailureReason> {
    match read_dimensions(media_type, source) {
        Ok((width, height)) => Ok(FileStructure::Image { width, height }),
        Err(Malformed) => Err(FileFailureReason::MalformedImage),
    }
}

fn read_dimensions<R: Read>(
    media_type: MediaType,
    source: BoundedReader<R>,
) -> ReadResult<(u32, u32)> {
    let form = ImageFormat::of(media_type).ok_or(Malformed)?;
    let whole = source.read_to_end()?;
    if !completeness::is_complete(form, &whole) {
        return Err(Malformed);
    }
    let (width, height) = read_header(form, &whole)?;
    let is_within = |side| (1..=MAX_SIDE_PIXELS).contains(&side);
    let pixels = u64::from(width) * u64::from(height);
    if is_within(width) && is_within(height) && pixels <= MAX_PIXELS {
        Ok((width, height))
    } else {
        Err(Malformed)
    }
}
