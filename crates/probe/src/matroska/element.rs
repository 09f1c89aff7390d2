//! An element: its identifier, its size, and the numbers in it.

use std::io::Read;

use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};

const MAX_ID_BYTES: u32 = 4;
const MAX_SIZE_BYTES: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementSize {
    Known(u64),
    Unknown,
}

pub(super) fn read_element_header<R: Read>(
    source: &mut BoundedReader<R>,
) -> ReadResult<(u32, ElementSize)> {
    let (id, _) = read_vint(source, MAX_ID_BYTES)?;
    let (size, bits) = read_vint(source, MAX_SIZE_BYTES)?;
    let mask = (1 << bits) - 1;
    let size = match size & mask {
        all if all == mask => ElementSize::Unknown,
        size => ElementSize::Known(size),
    };
    Ok((u32::try_from(id).map_err(|_| Malformed)?, size))
}

/// A number with the bit that marks its length, and how many bits are its value.
fn read_vint<R: Read>(source: &mut BoundedReader<R>, longest: u32) -> ReadResult<(u64, u32)> {
    let [first] = source.read_array()?;
    let length = first.leading_zeros() + 1;
    if length > longest {
        return Err(Malformed);
    }
    let mut number = u64::from(first);
    for _ in 1..length {
        let [byte] = source.read_array()?;
        number = (number << 8) | u64::from(byte);
    }
    Ok((number, 7 * length))
}

/// The body of a small element.
pub(super) fn read_body<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
) -> ReadResult<Vec<u8>> {
    (0..length)
        .map(|_| source.read_array().map(|[byte]| byte))
        .collect()
}

pub(super) fn read_unsigned<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
) -> ReadResult<u64> {
    if length > 8 {
        return Err(Malformed);
    }
    let bytes = read_body(source, length)?;
    let sum = |sum, byte: &u8| (sum << 8) | u64::from(*byte);
    Ok(bytes.iter().fold(0, sum))
}

/// Refuses NaN, infinite and negative numbers.
pub(super) fn read_float<R: Read>(source: &mut BoundedReader<R>, length: u64) -> ReadResult<f64> {
    let number = match length {
        4 => f64::from(f32::from_be_bytes(source.read_array()?)),
        8 => f64::from_be_bytes(source.read_array()?),
        _ => return Err(Malformed),
    };
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(Malformed)
    }
}

/// The track number of a block: its only field of variable length.
pub(super) fn read_track_number<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<u64> {
    let (number, bits) = read_vint(source, MAX_SIZE_BYTES)?;
    Ok(number & ((1 << bits) - 1))
}
