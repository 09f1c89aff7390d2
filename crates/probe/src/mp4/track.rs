//! `trak`: the kind of the track, and its length by header and by samples.

use std::io::Read;

use super::boxes::{for_each_child, read_entry_count, read_full_header, read_u32};
use super::durations::{read_edit_list, read_time_header};
use crate::bounded_reader::{BoundedReader, ReadResult};
use crate::video::VideoLength;

#[derive(Debug, Default)]
pub(super) struct TrackBox {
    pub(super) id: u32,
    pub(super) is_video: bool,
    /// In ticks of the movie.
    pub(super) edit_ticks: u64,
    /// The length of all its fragments, and from the first to the last; in ticks of the track.
    pub(super) fragment_ticks: u64,
    pub(super) first_fragment_start: Option<u64>,
    pub(super) last_fragment_end: u64,
    timescale: u32,
    duration: u64,
    sample_ticks: u64,
}

impl TrackBox {
    pub(super) fn read<R: Read>(source: &mut BoundedReader<R>, length: u64) -> ReadResult<Self> {
        let mut track = Self::default();
        for_each_child(source, length, |source, kind, length| match &kind {
            b"tkhd" => track.read_header(source, length),
            b"edts" => for_each_child(source, length, |source, kind, length| {
                if &kind == b"elst" {
                    track.edit_ticks = track.edit_ticks.max(read_edit_list(source, length)?);
                }
                Ok(())
            }),
            b"mdia" => track.read_media(source, length),
            _ => Ok(()),
        })?;
        Ok(track)
    }

    fn read_header<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        let (version, _, _) = read_full_header(source, length)?;
        let times = if version == 0 { 8 } else { 16 };
        source.skip(times)?;
        self.id = read_u32(source)?;
        Ok(())
    }

    fn read_media<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        for_each_child(source, length, |source, kind, length| match &kind {
            b"mdhd" => {
                (self.timescale, self.duration) = read_time_header(source, length)?;
                Ok(())
            }
            b"hdlr" => {
                read_full_header(source, length)?;
                let _component = read_u32(source)?;
                self.is_video = &source.read_array::<4>()? == b"vide";
                Ok(())
            }
            b"minf" => for_each_child(source, length, |source, kind, length| match &kind {
                b"stbl" => for_each_child(source, length, |source, kind, length| match &kind {
                    b"stts" => self.read_sample_table(source, length),
                    _ => Ok(()),
                }),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })
    }

    /// Runs of samples of the same length.
    fn read_sample_table<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        length: u64,
    ) -> ReadResult<()> {
        let (_, _, rest) = read_full_header(source, length)?;
        let mut sum = 0_u64;
        for _ in 0..read_entry_count(source, rest, 8)? {
            let count = u64::from(read_u32(source)?);
            let each = u64::from(read_u32(source)?);
            sum = sum.saturating_add(count * each);
        }
        self.sample_ticks = self.sample_ticks.max(sum);
        Ok(())
    }

    pub(super) fn length(&self) -> ReadResult<VideoLength> {
        let span = self
            .last_fragment_end
            .saturating_sub(self.first_fragment_start.unwrap_or(0));
        let fragments = self.sample_ticks.saturating_add(self.fragment_ticks);
        let longest = self.duration.max(fragments).max(span);
        VideoLength::from_ticks(longest, self.timescale)
    }
}
