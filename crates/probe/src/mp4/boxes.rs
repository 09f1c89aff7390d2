//! A box: its length, its type and its body.

use std::io::Read;

use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};

const HEADER_BYTES: u64 = 8;
const LONG_HEADER_BYTES: u64 = 16;
/// Version and flags of a box that has them.
const FULL_HEADER_BYTES: u64 = 4;

pub(super) type BoxType = [u8; 4];

#[derive(Debug, Clone, Copy)]
pub(super) enum BoxBody {
    Known(u64),
    /// The last box of a file need not say how long it is.
    ToEnd,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BoxHeader {
    pub(super) kind: BoxType,
    pub(super) body: BoxBody,
}

/// The next box of the file.
pub(super) fn read_box_header<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<BoxHeader> {
    let [a, b, c, d, kind @ ..] = source.read_array::<8>()?;
    let body = match u32::from_be_bytes([a, b, c, d]) {
        0 => BoxBody::ToEnd,
        1 => {
            let length = u64::from_be_bytes(source.read_array()?);
            BoxBody::Known(length.checked_sub(LONG_HEADER_BYTES).ok_or(Malformed)?)
        }
        length => BoxBody::Known(
            u64::from(length)
                .checked_sub(HEADER_BYTES)
                .ok_or(Malformed)?,
        ),
    };
    Ok(BoxHeader { kind, body })
}

/// Calls `each` for every box inside another, with its length. What `each` does not read is
/// skipped.
pub(super) fn for_each_child<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
    mut each: impl FnMut(&mut BoundedReader<R>, BoxType, u64) -> ReadResult<()>,
) -> ReadResult<()> {
    let end = source.position().checked_add(length).ok_or(Malformed)?;
    while source.position() < end {
        let BoxHeader { kind, body } = read_box_header(source)?;
        let BoxBody::Known(length) = body else {
            return Err(Malformed);
        };
        let its_end = source.position().checked_add(length).ok_or(Malformed)?;
        if its_end > end {
            return Err(Malformed);
        }
        each(source, kind, length)?;
        // Fails if `each` has read beyond the box.
        let rest = its_end.checked_sub(source.position()).ok_or(Malformed)?;
        source.skip(rest)?;
    }
    if source.position() == end {
        Ok(())
    } else {
        Err(Malformed)
    }
}

/// Version and flags, and how much is left after them.
pub(super) fn read_full_header<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
) -> ReadResult<(u8, u32, u64)> {
    let rest = length.checked_sub(FULL_HEADER_BYTES).ok_or(Malformed)?;
    let [version, flags @ ..] = source.read_array::<4>()?;
    let [a, b, c] = flags;
    Ok((version, u32::from_be_bytes([0, a, b, c]), rest))
}

pub(super) fn read_u32<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<u32> {
    Ok(u32::from_be_bytes(source.read_array()?))
}

/// A number of 32 bits in version 0, and of 64 bits later. All ones mean that it is unknown.
pub(super) fn read_versioned<R: Read>(
    source: &mut BoundedReader<R>,
    version: u8,
) -> ReadResult<Option<u64>> {
    if version == 0 {
        let number = read_u32(source)?;
        Ok((number != u32::MAX).then_some(u64::from(number)))
    } else {
        let number = u64::from_be_bytes(source.read_array()?);
        Ok((number != u64::MAX).then_some(number))
    }
}

/// The number of entries that a table states. Refused if entries of that size do not fit.
pub(super) fn read_entry_count<R: Read>(
    source: &mut BoundedReader<R>,
    rest: u64,
    each: u64,
) -> ReadResult<u32> {
    let count = read_u32(source)?;
    let room = rest.checked_sub(4).ok_or(Malformed)?;
    if u64::from(count).saturating_mul(each) > room {
        return Err(Malformed);
    }
    Ok(count)
}
