//! Images: the header, the dimensions in it, and an end.
//!
//! No pixel is decoded. What a hold needs to know stands in the header, and a decoder is where a
//! small file becomes a large memory.

mod whole;

use std::io::{Cursor, Read};

use domain::file::{Flaw, MediaType, Structure};
use image::{ImageDecoder as _, ImageFormat, ImageReader, Limits};

use crate::source::{Broken, Result, Source};

/// No more pixels a side.
const LONGEST_SIDE: u32 = 50_000;
/// Nor in all: from here on even one byte a pixel is a bomb.
const MOST_PIXELS: u64 = 1 << 28;
/// What a decoder may set aside for a header.
const MOST_MEMORY: u64 = 64 << 20;

pub(crate) fn read<R: Read>(
    media_type: MediaType,
    source: Source<R>,
) -> std::result::Result<Structure, Flaw> {
    match dimensions(media_type, source) {
        Ok((width, height)) => Ok(Structure::Image { width, height }),
        Err(Broken) => Err(Flaw::MalformedImage),
    }
}

fn dimensions<R: Read>(media_type: MediaType, source: Source<R>) -> Result<(u32, u32)> {
    let format = ImageFormat::from_mime_type(media_type.as_str()).ok_or(Broken)?;
    let whole = source.whole()?;
    if !whole::is_whole(media_type, &whole) {
        return Err(Broken);
    }
    let mut reader = ImageReader::with_format(Cursor::new(whole), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let (width, height) = reader.into_decoder().map_err(|_| Broken)?.dimensions();
    let is_within = |side| (1..=LONGEST_SIDE).contains(&side);
    let pixels = u64::from(width) * u64::from(height);
    if is_within(width) && is_within(height) && pixels <= MOST_PIXELS {
        Ok((width, height))
    } else {
        Err(Broken)
    }
}
