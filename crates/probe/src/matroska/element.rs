//! An element: its identifier, its size, and the numbers in it.

use std::io::Read;

use crate::source::{Broken, Result, Source};

const LONGEST_ID: u32 = 4;
const LONGEST_SIZE: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Of(u64),
    Unknown,
}

pub(super) fn header<R: Read>(source: &mut Source<R>) -> Result<(u32, Size)> {
    let (id, _) = number(source, LONGEST_ID)?;
    let (size, bits) = number(source, LONGEST_SIZE)?;
    let mask = (1 << bits) - 1;
    let size = match size & mask {
        all if all == mask => Size::Unknown,
        size => Size::Of(size),
    };
    Ok((u32::try_from(id).map_err(|_| Broken)?, size))
}

/// A number with the bit that marks its length, and how many bits are its own.
fn number<R: Read>(source: &mut Source<R>, longest: u32) -> Result<(u64, u32)> {
    let [first] = source.exactly()?;
    let length = first.leading_zeros() + 1;
    if length > longest {
        return Err(Broken);
    }
    let mut number = u64::from(first);
    for _ in 1..length {
        let [byte] = source.exactly()?;
        number = (number << 8) | u64::from(byte);
    }
    Ok((number, 7 * length))
}

/// What is in a small element.
pub(super) fn body<R: Read>(source: &mut Source<R>, length: u64) -> Result<Vec<u8>> {
    (0..length)
        .map(|_| source.exactly().map(|[byte]| byte))
        .collect()
}

pub(super) fn unsigned<R: Read>(source: &mut Source<R>, length: u64) -> Result<u64> {
    if length > 8 {
        return Err(Broken);
    }
    let bytes = body(source, length)?;
    let sum = |sum, byte: &u8| (sum << 8) | u64::from(*byte);
    Ok(bytes.iter().fold(0, sum))
}

/// None for a number that is none, or that no length can be.
pub(super) fn float<R: Read>(source: &mut Source<R>, length: u64) -> Result<f64> {
    let number = match length {
        4 => f64::from(f32::from_be_bytes(source.exactly()?)),
        8 => f64::from_be_bytes(source.exactly()?),
        _ => return Err(Broken),
    };
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(Broken)
    }
}

/// The track of a block, which is all that has a length of its own in it.
pub(super) fn track<R: Read>(source: &mut Source<R>) -> Result<u64> {
    let (number, bits) = number(source, LONGEST_SIZE)?;
    Ok(number & ((1 << bits) - 1))
}
