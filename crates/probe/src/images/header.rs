//! The dimensions in the header of an image, read by the decoder of its format.

use std::io::Cursor;

use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::ImageFormat;
use crate::bounded_reader::{Malformed, ReadResult};

/// The most memory that a decoder may allocate for a header.
const MAX_DECODER_BYTES: usize = 64 << 20;

pub(super) fn read_header(form: ImageFormat, bytes: &[u8]) -> ReadResult<(u32, u32)> {
    match form {
        ImageFormat::Png => png(bytes),
        ImageFormat::Jpeg => jpeg(bytes),
        ImageFormat::Gif => gif(bytes),
        ImageFormat::Webp => webp(bytes),
    }
}

fn png(bytes: &[u8]) -> ReadResult<(u32, u32)> {
    let limits = png::Limits {
        bytes: MAX_DECODER_BYTES,
    };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let reader = decoder.read_info().map_err(|_| Malformed)?;
    Ok(reader.info().size())
}

fn jpeg(bytes: &[u8]) -> ReadResult<(u32, u32)> {
    // Cameras write files that the standard forbids, and all readers accept them.
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX));
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| Malformed)?;
    let (width, height) = decoder.dimensions().ok_or(Malformed)?;
    Ok((side(width)?, side(height)?))
}

fn gif(bytes: &[u8]) -> ReadResult<(u32, u32)> {
    let decoder = gif::DecodeOptions::new()
        .read_info(bytes)
        .map_err(|_| Malformed)?;
    Ok((decoder.width().into(), decoder.height().into()))
}

fn webp(bytes: &[u8]) -> ReadResult<(u32, u32)> {
    let decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|_| Malformed)?;
    Ok(decoder.dimensions())
}

fn side(length: usize) -> ReadResult<u32> {
    u32::try_from(length).map_err(|_| Malformed)
}
