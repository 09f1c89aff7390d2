//! The dimensions that an image's header names, by the decoder of its form.

use std::io::Cursor;

use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::Form;
use crate::source::{Broken, Result};

/// What a decoder may set aside for a header.
const MOST_MEMORY: usize = 64 << 20;

pub(super) fn header(form: Form, bytes: &[u8]) -> Result<(u32, u32)> {
    match form {
        Form::Png => png(bytes),
        Form::Jpeg => jpeg(bytes),
        Form::Gif => gif(bytes),
        Form::Webp => webp(bytes),
    }
}

fn png(bytes: &[u8]) -> Result<(u32, u32)> {
    let limits = png::Limits { bytes: MOST_MEMORY };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let reader = decoder.read_info().map_err(|_| Broken)?;
    Ok(reader.info().size())
}

fn jpeg(bytes: &[u8]) -> Result<(u32, u32)> {
    // Cameras write what the standard forbids, and everyone reads it.
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX));
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| Broken)?;
    let (width, height) = decoder.dimensions().ok_or(Broken)?;
    Ok((side(width)?, side(height)?))
}

fn gif(bytes: &[u8]) -> Result<(u32, u32)> {
    let decoder = gif::DecodeOptions::new()
        .read_info(bytes)
        .map_err(|_| Broken)?;
    Ok((decoder.width().into(), decoder.height().into()))
}

fn webp(bytes: &[u8]) -> Result<(u32, u32)> {
    let decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|_| Broken)?;
    Ok(decoder.dimensions())
}

fn side(length: usize) -> Result<u32> {
    u32::try_from(length).map_err(|_| Broken)
}
