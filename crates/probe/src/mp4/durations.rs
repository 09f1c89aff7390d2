//! Durations in headers and edit lists.

use std::io::Read;

use super::boxes::{read_entry_count, read_full_header, read_u32, read_versioned};
use crate::bounded_reader::{BoundedReader, ReadResult};

/// Ticks per second and their number: what `mvhd` and `mdhd` have in common.
pub(super) fn read_time_header<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
) -> ReadResult<(u32, u64)> {
    let (version, _, _) = read_full_header(source, length)?;
    let times = if version == 0 { 8 } else { 16 };
    source.skip(times)?;
    let scale = read_u32(source)?;
    Ok((scale, read_versioned(source, version)?.unwrap_or(0)))
}

/// The sum of an edit list: how long a track is shown, in ticks of the movie.
pub(super) fn read_edit_list<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
) -> ReadResult<u64> {
    let (version, _, rest) = read_full_header(source, length)?;
    let (each, after) = if version == 0 { (12, 8) } else { (20, 12) };
    let mut sum = 0_u64;
    for _ in 0..read_entry_count(source, rest, each)? {
        sum = sum.saturating_add(read_versioned(source, version)?.unwrap_or(0));
        source.skip(after)?;
    }
    Ok(sum)
}
