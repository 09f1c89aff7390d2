//! Images: the header, the dimensions in it, and an end.
//!
//! No pixel is decoded. What a hold needs to know stands in the header, and a decoder is where a
//! small file becomes a large memory.

mod header;
mod whole;

use std::io::Read;

use domain::file::{Flaw, MediaType, Structure};

use crate::source::{Broken, Result, Source};

use header::header;

/// No more pixels a side.
const LONGEST_SIDE: u32 = 50_000;
/// Nor in all: from here on even one byte a pixel is a bomb.
const MOST_PIXELS: u64 = 1 << 28;

/// What an image can be.
#[derive(Debug, Clone, Copy)]
enum Form {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Form {
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
    source: Source<R>,
) -> std::result::Result<Structure, Flaw> {
    match dimensions(media_type, source) {
        Ok((width, height)) => Ok(Structure::Image { width, height }),
        Err(Broken) => Err(Flaw::MalformedImage),
    }
}

fn dimensions<R: Read>(media_type: MediaType, source: Source<R>) -> Result<(u32, u32)> {
    let form = Form::of(media_type).ok_or(Broken)?;
    let whole = source.whole()?;
    if !whole::is_whole(form, &whole) {
        return Err(Broken);
    }
    let (width, height) = header(form, &whole)?;
    let is_within = |side| (1..=LONGEST_SIDE).contains(&side);
    let pixels = u64::from(width) * u64::from(height);
    if is_within(width) && is_within(height) && pixels <= MOST_PIXELS {
        Ok((width, height))
    } else {
        Err(Broken)
    }
}
