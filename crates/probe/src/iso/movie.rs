//! `moov`: the movie's own header, its tracks, and what its fragments begin with.

use std::io::Read;

use super::boxes::{Body, full, inside, number32, wide};
use super::times::header;
use super::track::Track;
use crate::source::{Broken, Result, Source};
use crate::video::Length;

/// Films have a handful.
const MOST_TRACKS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Movie {
    scale: u32,
    duration: u64,
    /// Of all fragments, by the word of the header before them.
    fragments: u64,
    pub(super) tracks: Vec<Track>,
    /// How long a sample of a track is unless its fragment says otherwise.
    defaults: Vec<(u32, u32)>,
}

impl Movie {
    pub(super) fn read<R: Read>(source: &mut Source<R>, body: Body) -> Result<Self> {
        let Body::Of(length) = body else {
            // Nothing of ours is written so, and a movie without an end hides what follows.
            return Err(Broken);
        };
        let mut movie = Self::default();
        inside(source, length, |source, kind, length| match &kind {
            b"mvhd" => movie.header(source, length),
            b"trak" if movie.tracks.len() < MOST_TRACKS => {
                movie.tracks.push(Track::read(source, length)?);
                Ok(())
            }
            b"trak" => Err(Broken),
            b"mvex" => inside(source, length, |source, kind, length| match &kind {
                b"mehd" => movie.extent(source, length),
                b"trex" => movie.sample(source, length),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })?;
        Ok(movie)
    }

    fn header<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        let (scale, duration) = header(source, length)?;
        self.scale = scale;
        self.duration = duration;
        Ok(())
    }

    fn extent<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        let (version, _, _) = full(source, length)?;
        self.fragments = wide(source, version)?.unwrap_or(0);
        Ok(())
    }

    fn sample<R: Read>(&mut self, source: &mut Source<R>, length: u64) -> Result<()> {
        full(source, length)?;
        let track = number32(source)?;
        let _description = number32(source)?;
        if self.defaults.len() >= MOST_TRACKS {
            return Err(Broken);
        }
        self.defaults.push((track, number32(source)?));
        Ok(())
    }

    /// The track that a fragment belongs to, and how long its samples are.
    pub(super) fn track(&mut self, id: u32) -> Result<(&mut Track, Option<u32>)> {
        let default = self.defaults.iter().find(|(track, _)| *track == id);
        let default = default.map(|(_, duration)| *duration);
        let track = self.tracks.iter_mut().find(|track| track.id == id);
        Ok((track.ok_or(Broken)?, default))
    }

    pub(super) fn length(&self) -> Result<Length> {
        if !self.tracks.iter().any(|track| track.is_video) {
            return Err(Broken);
        }
        let mut longest = Length::of_ticks(self.duration.max(self.fragments), self.scale)?;
        for track in &self.tracks {
            longest = longest.max(track.length()?);
            longest = longest.max(Length::of_ticks(track.edited, self.scale)?);
        }
        Ok(longest)
    }
}
