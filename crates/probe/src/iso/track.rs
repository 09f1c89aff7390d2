//! `trak`: what kind of track it is, and how long by its header and by its samples.

use std::io::Read;

use super::boxes::{entries, full, inside, number32};
use super::times::{edited, header};
use crate::source::{Result, Source};
use crate::video::Length;

#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) is_video: bool,
    /// In ticks of the movie.
    pub(super) edited: u64,
    /// Of all its fragments, and from the first of them to the last; in its own ticks.
    pub(super) fragments: u64,
    pub(super) began: Option<u64>,
    pub(super) ended: u64,
    scale: u32,
    duration: u64,
    samples: u64,
}

impl Track {
    pub(super) fn read<R: Read>(source: &mut Source<R>, length: u64) -> Result<Self> {
        let mut track = Self::default();
        inside(source, length, |source, kind, length| match &kind {
            b"tkhd" => track.header(source, length),
            b"edts" => inside(source, length, |source, kind, length| {
                if &kind == b"elst" {
                    track.edited = track.edited.max(edited(source, length)?);
                }
                Ok(())
            }),
            b"mdia" => track.media(source, length),
            _ => Ok(()),
        })?;
        Ok(track)
    }

    fn header<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        let (version, _, _) = full(source, length)?;
        let times = if version == 0 { 8 } else { 16 };
        source.skip(times)?;
        self.id = number32(source)?;
        Ok(())
    }

    fn media<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        inside(source, length, |source, kind, length| match &kind {
            b"mdhd" => {
                (self.scale, self.duration) = header(source, length)?;
                Ok(())
            }
            b"hdlr" => {
                full(source, length)?;
                let _component = number32(source)?;
                self.is_video = &source.exactly::<4>()? == b"vide";
                Ok(())
            }
            b"minf" => inside(source, length, |source, kind, length| match &kind {
                b"stbl" => inside(source, length, |source, kind, length| match &kind {
                    b"stts" => self.table(source, length),
                    _ => Ok(()),
                }),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })
    }

    /// Runs of samples of the same length.
    fn table<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        let (_, _, rest) = full(source, length)?;
        let mut sum = 0_u64;
        for _ in 0..entries(source, rest, 8)? {
            let count = u64::from(number32(source)?);
            let each = u64::from(number32(source)?);
            sum = sum.saturating_add(count * each);
        }
        self.samples = self.samples.max(sum);
        Ok(())
    }

    pub(super) fn length(&self) -> Result<Length> {
        let span = self.ended.saturating_sub(self.began.unwrap_or(0));
        let fragments = self.samples.saturating_add(self.fragments);
        let longest = self.duration.max(fragments).max(span);
        Length::of_ticks(longest, self.scale)
    }
}
