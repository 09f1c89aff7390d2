//! `moof`: the samples of a fragment, which the tables of `moov` do not list.

use std::io::Read;

use super::boxes::{BoxBody, for_each_child, read_full_header, read_u32, read_versioned};
use super::movie::MovieBox;
use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};

/// Flags of `tfhd`: which fields there are.
const HAS_OFFSET: u32 = 0x1;
const HAS_DESCRIPTION: u32 = 0x2;
const HAS_DURATION: u32 = 0x8;

/// Flags of `trun`.
const HAS_DATA_OFFSET: u32 = 0x1;
const HAS_FIRST_FLAGS: u32 = 0x4;
const HAS_SAMPLE_DURATION: u32 = 0x100;
/// Size, flags and offset in time of each sample.
const OTHER_FIELDS: u32 = 0xe00;

/// What was read of a `traf` so far.
#[derive(Debug, Default)]
struct TrackFragment {
    track: Option<u32>,
    default_duration: Option<u32>,
    start_ticks: Option<u64>,
    ticks: u64,
}

pub(super) fn read<R: Read>(
    source: &mut BoundedReader<R>,
    body: BoxBody,
    movie: &mut MovieBox,
) -> ReadResult<()> {
    let BoxBody::Known(length) = body else {
        return Err(Malformed);
    };
    for_each_child(source, length, |source, kind, length| match &kind {
        b"traf" => read_track(source, length, movie),
        _ => Ok(()),
    })
}

fn read_track<R: Read>(
    source: &mut BoundedReader<R>,
    length: u64,
    movie: &mut MovieBox,
) -> ReadResult<()> {
    let mut run = TrackFragment::default();
    for_each_child(source, length, |source, kind, length| match &kind {
        b"tfhd" => run.read_header(source, length, movie),
        b"tfdt" => {
            let (version, _, _) = read_full_header(source, length)?;
            run.start_ticks = read_versioned(source, version)?;
            Ok(())
        }
        b"trun" => run.read_samples(source, length),
        _ => Ok(()),
    })?;
    let (track, _) = movie.track(run.track.ok_or(Malformed)?)?;
    track.fragment_ticks = track.fragment_ticks.saturating_add(run.ticks);
    if let Some(begins) = run.start_ticks {
        let first = track
            .first_fragment_start
            .map_or(begins, |began| began.min(begins));
        track.first_fragment_start = Some(first);
        track.last_fragment_end = track
            .last_fragment_end
            .max(begins.saturating_add(run.ticks));
    }
    Ok(())
}

impl TrackFragment {
    fn read_header<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
        movie: &mut MovieBox,
    ) -> ReadResult<()> {
        let (_, flags, _) = read_full_header(source, length)?;
        let id = read_u32(source)?;
        self.track = Some(id);
        self.default_duration = movie.track(id)?.1;
        let mut before = 0;
        for (flag, length) in [(HAS_OFFSET, 8), (HAS_DESCRIPTION, 4)] {
            before += if flags & flag == 0 { 0 } else { length };
        }
        source.skip(before)?;
        if flags & HAS_DURATION != 0 {
            self.default_duration = Some(read_u32(source)?);
        }
        Ok(())
    }

    fn read_samples<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        let (_, flags, rest) = read_full_header(source, length)?;
        let count = read_u32(source)?;
        let mut before = 0;
        for flag in [HAS_DATA_OFFSET, HAS_FIRST_FLAGS] {
            before += if flags & flag == 0 { 0 } else { 4 };
        }
        source.skip(before)?;
        let others = u64::from((flags & OTHER_FIELDS).count_ones()) * 4;
        if flags & HAS_SAMPLE_DURATION == 0 {
            // The length of a fragment is unknown if its samples have none.
            let each = u64::from(self.default_duration.ok_or(Malformed)?);
            self.ticks = self.ticks.saturating_add(each * u64::from(count));
            return Ok(());
        }
        let room = rest.checked_sub(4 + before).ok_or(Malformed)?;
        if u64::from(count) * (4 + others) > room {
            return Err(Malformed);
        }
        for _ in 0..count {
            self.ticks = self.ticks.saturating_add(u64::from(read_u32(source)?));
            source.skip(others)?;
        }
        Ok(())
    }
}
