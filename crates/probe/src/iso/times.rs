//! Times, as headers and edit lists tell them.

use std::io::Read;

use super::boxes::{entries, full, number32, wide};
use crate::source::{Result, Source};

/// Ticks per second and their number: what `mvhd` and `mdhd` have in common.
pub(super) fn header<R: Read>(source: &mut Source<R>, length: u64) -> Result<(u32, u64)> {
    let (version, _, _) = full(source, length)?;
    let times = if version == 0 { 8 } else { 16 };
    source.skip(times)?;
    let scale = number32(source)?;
    Ok((scale, wide(source, version)?.unwrap_or(0)))
}

/// The sum of an edit list: how long a track is shown, in ticks of the movie.
pub(super) fn edited<R: Read>(source: &mut Source<R>, length: u64) -> Result<u64> {
    let (version, _, rest) = full(source, length)?;
    let (each, after) = if version == 0 { (12, 8) } else { (20, 12) };
    let mut sum = 0_u64;
    for _ in 0..entries(source, rest, each)? {
        sum = sum.saturating_add(wide(source, version)?.unwrap_or(0));
        source.skip(after)?;
    }
    Ok(sum)
}
