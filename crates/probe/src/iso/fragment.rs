//! `moof`: the samples of a fragment, which no table before it knows of.

use std::io::Read;

use super::boxes::{Body, full, inside, number32, wide};
use super::movie::Movie;
use crate::source::{Broken, Result, Source};

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

/// What a `traf` has said so far.
#[derive(Debug, Default)]
struct Run {
    track: Option<u32>,
    default: Option<u32>,
    begins: Option<u64>,
    ticks: u64,
}

pub(super) fn read<R: Read>(source: &mut Source<R>, body: Body, movie: &mut Movie) -> Result<()> {
    let Body::Of(length) = body else {
        return Err(Broken);
    };
    inside(source, length, |source, kind, length| match &kind {
        b"traf" => track(source, length, movie),
        _ => Ok(()),
    })
}

fn track<R: Read>(source: &mut Source<R>, length: u64, movie: &mut Movie) -> Result<()> {
    let mut run = Run::default();
    inside(source, length, |source, kind, length| match &kind {
        b"tfhd" => run.header(source, length, movie),
        b"tfdt" => {
            let (version, _, _) = full(source, length)?;
            run.begins = wide(source, version)?;
            Ok(())
        }
        b"trun" => run.samples(source, length),
        _ => Ok(()),
    })?;
    let (track, _) = movie.track(run.track.ok_or(Broken)?)?;
    track.fragments = track.fragments.saturating_add(run.ticks);
    if let Some(begins) = run.begins {
        let first = track.began.map_or(begins, |began| began.min(begins));
        track.began = Some(first);
        track.ended = track.ended.max(begins.saturating_add(run.ticks));
    }
    Ok(())
}

impl Run {
    fn header<R: Read>(
        &mut self,
        source: &mut Source<R>,
        length: u64,
        movie: &mut Movie,
    ) -> Result<()> {
        let (_, flags, _) = full(source, length)?;
        let id = number32(source)?;
        self.track = Some(id);
        self.default = movie.track(id)?.1;
        let mut before = 0;
        for (flag, length) in [(HAS_OFFSET, 8), (HAS_DESCRIPTION, 4)] {
            before += if flags & flag == 0 { 0 } else { length };
        }
        source.skip(before)?;
        if flags & HAS_DURATION != 0 {
            self.default = Some(number32(source)?);
        }
        Ok(())
    }

    fn samples<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        let (_, flags, rest) = full(source, length)?;
        let count = number32(source)?;
        let mut before = 0;
        for flag in [HAS_DATA_OFFSET, HAS_FIRST_FLAGS] {
            before += if flags & flag == 0 { 0 } else { 4 };
        }
        source.skip(before)?;
        let others = u64::from((flags & OTHER_FIELDS).count_ones()) * 4;
        if flags & HAS_SAMPLE_DURATION == 0 {
            // A fragment whose samples have no length at all is as good as unknown.
            let each = u64::from(self.default.ok_or(Broken)?);
            self.ticks = self.ticks.saturating_add(each * u64::from(count));
            return Ok(());
        }
        let room = rest.checked_sub(4 + before).ok_or(Broken)?;
        if u64::from(count) * (4 + others) > room {
            return Err(Broken);
        }
        for _ in 0..count {
            self.ticks = self.ticks.saturating_add(u64::from(number32(source)?));
            source.skip(others)?;
        }
        Ok(())
    }
}
