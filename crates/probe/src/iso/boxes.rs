//! A box: its length, its type, what is in it.

use std::io::Read;

use crate::source::{Broken, Result, Source};

const HEAD: u64 = 8;
const LONG_HEAD: u64 = 16;
/// Version and flags of a box that has them.
const FULL: u64 = 4;

pub(super) type Kind = [u8; 4];

#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Of(u64),
    /// The last box of a file need not say how long it is.
    ToTheEnd,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) body: Body,
}

/// The next box of the file.
pub(super) fn next<R: Read>(source: &mut Source<R>) -> Result<Found> {
    let [a, b, c, d, kind @ ..] = source.exactly::<8>()?;
    let body = match u32::from_be_bytes([a, b, c, d]) {
        0 => Body::ToTheEnd,
        1 => {
            let length = u64::from_be_bytes(source.exactly()?);
            Body::Of(length.checked_sub(LONG_HEAD).ok_or(Broken)?)
        }
        length => Body::Of(u64::from(length).checked_sub(HEAD).ok_or(Broken)?),
    };
    Ok(Found { kind, body })
}

/// Calls `each` for every box inside another, with its length. It reads all of it or a part: the
/// rest is skipped.
pub(super) fn inside<R: Read>(
    source: &mut Source<R>,
    length: u64,
    mut each: impl FnMut(&mut Source<R>, Kind, u64) -> Result<()>,
) -> Result<()> {
    let end = source.at().checked_add(length).ok_or(Broken)?;
    while source.at() < end {
        let Found { kind, body } = next(source)?;
        let Body::Of(length) = body else {
            return Err(Broken);
        };
        let its_end = source.at().checked_add(length).ok_or(Broken)?;
        if its_end > end {
            return Err(Broken);
        }
        each(source, kind, length)?;
        // None if it has read more than there was.
        let rest = its_end.checked_sub(source.at()).ok_or(Broken)?;
        source.skip(rest)?;
    }
    if source.at() == end {
        Ok(())
    } else {
        Err(Broken)
    }
}

/// Version and flags, and how much is left after them.
pub(super) fn full<R: Read>(source: &mut Source<R>, length: u64) -> Result<(u8, u32, u64)> {
    let rest = length.checked_sub(FULL).ok_or(Broken)?;
    let [version, flags @ ..] = source.exactly::<4>()?;
    let [a, b, c] = flags;
    Ok((version, u32::from_be_bytes([0, a, b, c]), rest))
}

pub(super) fn number32<R: Read>(source: &mut Source<R>) -> Result<u32> {
    Ok(u32::from_be_bytes(source.exactly()?))
}

/// A number that is wider from version 1 on. All ones mean that it is not known.
pub(super) fn wide<R: Read>(source: &mut Source<R>, version: u8) -> Result<Option<u64>> {
    if version == 0 {
        let number = number32(source)?;
        Ok((number != u32::MAX).then_some(u64::from(number)))
    } else {
        let number = u64::from_be_bytes(source.exactly()?);
        Ok((number != u64::MAX).then_some(number))
    }
}

/// How many entries of that size a table has, by its own word; refused if they do not fit.
pub(super) fn entries<R: Read>(source: &mut Source<R>, rest: u64, each: u64) -> Result<u32> {
    let count = number32(source)?;
    let room = rest.checked_sub(4).ok_or(Broken)?;
    if u64::from(count).saturating_mul(each) > room {
        return Err(Broken);
    }
    Ok(count)
}
