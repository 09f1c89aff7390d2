//! Whether an image is complete: walks the format and skips the pixels.
//!
//! A truncated image has a normal header. Only a decoder of the pixels would notice.

use super::ImageFormat;

pub(super) fn is_complete(form: ImageFormat, bytes: &[u8]) -> bool {
    let end = match form {
        ImageFormat::Png => png(bytes),
        ImageFormat::Jpeg => jpeg(bytes),
        ImageFormat::Gif => gif(bytes),
        ImageFormat::Webp => webp(bytes),
    };
    end.is_some()
}

/// Chunks, of which the last is `IEND`.
fn png(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (kind, after) = after.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (_checksum, after) = after.get(length..)?.split_first_chunk::<4>()?;
        if kind == b"IEND" {
            return Some(());
        }
        rest = after;
    }
}

/// Segments, scans between them, and an end marker.
fn jpeg(bytes: &[u8]) -> Option<()> {
    const START: u8 = 0xd8;
    const END: u8 = 0xd9;
    let mut rest = bytes;
    loop {
        // Between segments there is only scan data, in which 0xff is always escaped.
        let at = rest.iter().position(|byte| *byte == 0xff)?;
        let (marker, after) = rest.get(at + 1..)?.split_first()?;
        rest = match *marker {
            END => return Some(()),
            // Stuffing, restarts and the start have no body. A fill byte 0xff is read again.
            0x00 | 0x01 | 0xd0..=0xd7 | START => after,
            0xff => rest.get(at + 1..)?,
            _ => {
                let length = u16::from_be_bytes(*after.first_chunk()?);
                after.get(usize::from(length.max(2))..)?
            }
        };
    }
}

/// Blocks, of which the last is the trailer.
fn gif(bytes: &[u8]) -> Option<()> {
    let screen = bytes.get(..13)?;
    let mut rest = skip_color_table(bytes.get(13..)?, *screen.get(10)?)?;
    loop {
        let (kind, after) = rest.split_first()?;
        rest = match kind {
            0x3b => return Some(()),
            0x21 => skip_blocks(after.get(1..)?)?,
            0x2c => {
                let (descriptor, after) = after.split_first_chunk::<9>()?;
                let after = skip_color_table(after, *descriptor.last()?)?;
                skip_blocks(after.get(1..)?)?
            }
            _ => return None,
        };
    }
}

/// Skips the colour table, if the flags say that there is one.
fn skip_color_table(bytes: &[u8], flags: u8) -> Option<&[u8]> {
    if flags & 0x80 == 0 {
        return Some(bytes);
    }
    bytes.get(3 * (2 << (flags & 7))..)
}

/// Skips blocks, up to the empty one.
fn skip_blocks(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, after) = bytes.split_first()?;
        if *length == 0 {
            return Some(after);
        }
        bytes = after.get(usize::from(*length)..)?;
    }
}

/// At least as long as the header says.
fn webp(bytes: &[u8]) -> Option<()> {
    let length = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    let length = usize::try_from(length).ok()?;
    bytes.get(8..)?.get(..length).map(|_| ())
}
