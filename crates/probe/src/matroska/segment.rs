//! The segment: what its header says of its length, and what its blocks do.

use std::io::Read;
use std::time::Duration;

use super::element::{Size, float, header, track, unsigned};
use crate::source::{Broken, Result, Source};
use crate::video::Length;

const SEGMENT: u32 = super::SEGMENT;
const INFO: u32 = 0x1549_a966;
const SCALE: u32 = 0x2a_d7b1;
const DURATION: u32 = 0x4489;
const TRACKS: u32 = 0x1654_ae6b;
const TRACK: u32 = 0xae;
const TRACK_TYPE: u32 = 0x83;
const CLUSTER: u32 = 0x1f43_b675;
const TIMESTAMP: u32 = 0xe7;
const SIMPLE_BLOCK: u32 = 0xa3;
const GROUP: u32 = 0xa0;
const BLOCK: u32 = 0xa1;
const BLOCK_DURATION: u32 = 0x9b;

/// Identifiers of four bytes stand in the segment itself, or begin another file.
const OF_SEGMENT: u32 = 0x1000_0000;
const EBML: u32 = super::EBML;
/// Void and checksum, which may stand everywhere.
const GLOBAL: [u32; 2] = [super::VOID, 0xbf];

const VIDEO: u64 = 1;
/// Nanoseconds in a tick, unless the file says otherwise.
const DEFAULT_SCALE: u64 = 1_000_000;
const NANOSECONDS: f64 = 1e9;

#[derive(Debug)]
pub(super) struct Segment {
    scale: u64,
    duration: f64,
    has_video: bool,
    /// Of the cluster that is being read, and of the block in it.
    cluster: Option<u64>,
    block: u64,
    last: u64,
}

/// An element that is being read, and where it ends if it says so.
#[derive(Debug, Clone, Copy)]
struct Level {
    id: u32,
    end: Option<u64>,
}

impl Segment {
    pub(super) fn read<R: Read>(source: &mut Source<R>, size: Size) -> Result<Self> {
        let mut segment = Self {
            scale: DEFAULT_SCALE,
            duration: 0.0,
            has_video: false,
            cluster: None,
            block: 0,
            last: 0,
        };
        let end = end_of(source, size)?;
        let mut open = vec![Level { id: SEGMENT, end }];
        loop {
            while open
                .pop_if(|level| level.end == Some(source.at()))
                .is_some()
            {}
            if source.is_at_end()? {
                break;
            }
            segment.element(source, &mut open)?;
        }
        // What says how long it is must be there to its end.
        if open.iter().all(|level| level.end.is_none()) {
            Ok(segment)
        } else {
            Err(Broken)
        }
    }

    fn element<R: Read>(&mut self, source: &mut Source<R>, open: &mut Vec<Level>) -> Result<()> {
        let (id, size) = header(source)?;
        // A cluster of unknown size ends where the next element of the segment begins.
        if id >= OF_SEGMENT {
            open.pop_if(|level| level.id == CLUSTER && level.end.is_none());
        }
        // Something follows the segment, or a second file does.
        let parent = open.last().copied().ok_or(Broken)?;
        if id == EBML || id == SEGMENT {
            return Err(Broken);
        }
        let end = end_of(source, size)?;
        let room = open.iter().rev().find_map(|level| level.end);
        if room.is_some_and(|room| end.unwrap_or(source.at()) > room) {
            return Err(Broken);
        }
        match (parent.id, id) {
            (SEGMENT, CLUSTER) => {
                self.cluster = None;
                open.push(Level { id, end });
                Ok(())
            }
            (SEGMENT, INFO | TRACKS) | (TRACKS, TRACK) | (CLUSTER, GROUP) if end.is_some() => {
                open.push(Level { id, end });
                Ok(())
            }
            // What belongs into a cluster and stands outside of one would be passed over.
            (SEGMENT, ..OF_SEGMENT) if !GLOBAL.contains(&id) => Err(Broken),
            _ => {
                let Size::Of(length) = size else {
                    return Err(Broken);
                };
                self.leaf(source, (parent.id, id), length)?;
                let rest = end.and_then(|end| end.checked_sub(source.at()));
                source.skip(rest.ok_or(Broken)?)
            }
        }
    }

    fn leaf<R: Read>(
        &mut self,
        source: &mut Source<R>,
        path: (u32, u32),
        length: u64,
    ) -> Result<()> {
        match path {
            (INFO, SCALE) => self.scale = unsigned(source, length)?,
            (INFO, DURATION) => self.duration = float(source, length)?,
            (TRACK, TRACK_TYPE) => self.has_video |= unsigned(source, length)? == VIDEO,
            (CLUSTER, TIMESTAMP) => self.cluster = Some(unsigned(source, length)?),
            (CLUSTER, SIMPLE_BLOCK) | (GROUP, BLOCK) => {
                track(source)?;
                let after = i16::from_be_bytes(source.exactly()?);
                let cluster = self.cluster.ok_or(Broken)?;
                self.block = cluster.saturating_add_signed(after.into());
                self.last = self.last.max(self.block);
            }
            (GROUP, BLOCK_DURATION) => {
                let end = self.block.saturating_add(unsigned(source, length)?);
                self.last = self.last.max(end);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn length(&self) -> Result<Length> {
        // Seconds in a tick are as absurd as none.
        let scale = u32::try_from(self.scale).ok().filter(|scale| *scale > 0);
        let scale = scale.ok_or(Broken)?;
        if !self.has_video {
            return Err(Broken);
        }
        let seconds = self.duration * f64::from(scale) / NANOSECONDS;
        let said = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let blocks = u128::from(self.last) * u128::from(scale);
        Ok(Length::of_nanoseconds(said.as_nanos().max(blocks)))
    }
}

fn end_of<R: Read>(source: &Source<R>, size: Size) -> Result<Option<u64>> {
    match size {
        Size::Unknown => Ok(None),
        Size::Of(length) => source.at().checked_add(length).map(Some).ok_or(Broken),
    }
}
