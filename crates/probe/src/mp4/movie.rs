//! `moov`: the movie header, the tracks, and the defaults of the fragments.

use std::io::Read;

use super::boxes::{BoxBody, for_each_child, read_full_header, read_u32, read_versioned};
use super::durations::read_time_header;
use super::track::TrackBox;
use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};
use crate::video::VideoLength;

/// Real movies have a few.
const MAX_TRACKS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct MovieBox {
    timescale: u32,
    duration: u64,
    /// The length of all fragments, as `mehd` states it.
    fragment_duration: u64,
    pub(super) tracks: Vec<TrackBox>,
    /// The length of a track's samples, unless a fragment states another.
    default_durations: Vec<(u32, u32)>,
}

impl MovieBox {
    pub(super) fn read<R: Read>(source: &mut BoundedReader<R>, body: BoxBody) -> ReadResult<Self> {
        let BoxBody::Known(length) = body else {
            // A movie without a stated length would hide what follows.
            return Err(Malformed);
        };
        let mut movie = Self::default();
        for_each_child(source, length, |source, kind, length| match &kind {
            b"mvhd" => movie.read_header(source, length),
            b"trak" if movie.tracks.len() < MAX_TRACKS => {
                movie.tracks.push(TrackBox::read(source, length)?);
                Ok(())
            }
            b"trak" => Err(Malformed),
            b"mvex" => for_each_child(source, length, |source, kind, length| match &kind {
                b"mehd" => movie.read_fragment_duration(source, length),
                b"trex" => movie.read_default_duration(source, length),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })?;
        Ok(movie)
    }

    fn read_header<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        let (scale, duration) = read_time_header(source, length)?;
        self.timescale = scale;
        self.duration = duration;
        Ok(())
    }

    fn read_fragment_duration<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        let (version, _, _) = read_full_header(source, length)?;
        self.fragment_duration = read_versioned(source, version)?.unwrap_or(0);
        Ok(())
    }

    fn read_default_duration<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        read_full_header(source, length)?;
        let track = read_u32(source)?;
        let _description = read_u32(source)?;
        if self.default_durations.len() >= MAX_TRACKS {
            return Err(Malformed);
        }
        self.default_durations.push((track, read_u32(source)?));
        Ok(())
    }

    /// The track that a fragment belongs to, and how long its samples are.
    pub(super) fn track(&mut self, id: u32) -> ReadResult<(&mut TrackBox, Option<u32>)> {
        let default = self
            .default_durations
            .iter()
            .find(|(track, _)| *track == id);
        let default = default.map(|(_, duration)| *duration);
        let track = self.tracks.iter_mut().find(|track| track.id == id);
        Ok((track.ok_or(Malformed)?, default))
    }

    pub(super) fn length(&self) -> ReadResult<VideoLength> {
        if !self.tracks.iter().any(|track| track.is_video) {
            return Err(Malformed);
        }
        let mut longest =
            VideoLength::from_ticks(self.duration.max(self.fragment_duration), self.timescale)?;
        for track in &self.tracks {
            longest = longest.max(track.length()?);
            longest = longest.max(VideoLength::from_ticks(track.edit_ticks, self.timescale)?);
        }
        Ok(longest)
    }
}
