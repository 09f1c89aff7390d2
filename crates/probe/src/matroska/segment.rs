//! The segment: its length by the header and by the blocks.

use std::io::Read;
use std::time::Duration;

use super::element::{
    ElementSize, read_element_header, read_float, read_track_number, read_unsigned,
};
use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};
use crate::video::VideoLength;

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

/// Identifiers of four bytes: elements of the segment itself, or the start of another file.
const FIRST_TOP_LEVEL_ID: u32 = 0x1000_0000;
const EBML: u32 = super::EBML;
/// Void and checksum, which may occur everywhere.
const GLOBAL_IDS: [u32; 2] = [super::VOID, 0xbf];

const VIDEO_TRACK_TYPE: u64 = 1;
/// Nanoseconds per tick, unless the file states another scale.
const DEFAULT_SCALE: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;

#[derive(Debug)]
pub(super) struct Segment {
    scale: u64,
    duration: f64,
    has_video: bool,
    /// The time of the current cluster, and of the current block.
    cluster_ticks: Option<u64>,
    block_ticks: u64,
    last_block_ticks: u64,
}

/// An element that is being read, and its end if it states one.
#[derive(Debug, Clone, Copy)]
struct OpenElement {
    id: u32,
    end: Option<u64>,
}

impl Segment {
    pub(super) fn read<R: Read>(
        source: &mut BoundedReader<R>,
        size: ElementSize,
    ) -> ReadResult<Self> {
        let mut segment = Self {
            scale: DEFAULT_SCALE,
            duration: 0.0,
            has_video: false,
            cluster_ticks: None,
            block_ticks: 0,
            last_block_ticks: 0,
        };
        let end = end_of(source, size)?;
        let mut open = vec![OpenElement { id: SEGMENT, end }];
        loop {
            while open
                .pop_if(|level| level.end == Some(source.position()))
                .is_some()
            {}
            if source.is_at_end()? {
                break;
            }
            segment.read_element(source, &mut open)?;
        }
        // An element that states its size must be complete.
        if open.iter().all(|level| level.end.is_none()) {
            Ok(segment)
        } else {
            Err(Malformed)
        }
    }

    fn read_element<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        open: &mut Vec<OpenElement>,
    ) -> ReadResult<()> {
        let (id, size) = read_element_header(source)?;
        // A cluster of unknown size ends where the next element of the segment begins.
        if id >= FIRST_TOP_LEVEL_ID {
            open.pop_if(|level| level.id == CLUSTER && level.end.is_none());
        }
        // Nothing may follow the segment, and no second file may.
        let parent = open.last().copied().ok_or(Malformed)?;
        if id == EBML || id == SEGMENT {
            return Err(Malformed);
        }
        let end = end_of(source, size)?;
        let room = open.iter().rev().find_map(|level| level.end);
        if room.is_some_and(|room| end.unwrap_or(source.position()) > room) {
            return Err(Malformed);
        }
        match (parent.id, id) {
            (SEGMENT, CLUSTER) => {
                self.cluster_ticks = None;
                open.push(OpenElement { id, end });
                Ok(())
            }
            (SEGMENT, INFO | TRACKS) | (TRACKS, TRACK) | (CLUSTER, GROUP) if end.is_some() => {
                open.push(OpenElement { id, end });
                Ok(())
            }
            // An element of a cluster outside of one would be skipped.
            (SEGMENT, ..FIRST_TOP_LEVEL_ID) if !GLOBAL_IDS.contains(&id) => Err(Malformed),
            _ => {
                let ElementSize::Known(length) = size else {
                    return Err(Malformed);
                };
                self.read_leaf(source, parent.id, id, length)?;
                let rest = end.and_then(|end| end.checked_sub(source.position()));
                source.skip(rest.ok_or(Malformed)?)
            }
        }
    }

    fn read_leaf<R: Read>(
        &mut self,
        source: &mut BoundedReader<R>,
        parent: u32,
        id: u32,
        length: u64,
    ) -> ReadResult<()> {
        match (parent, id) {
            (INFO, SCALE) => self.scale = read_unsigned(source, length)?,
            (INFO, DURATION) => self.duration = read_float(source, length)?,
            (TRACK, TRACK_TYPE) => {
                self.has_video |= read_unsigned(source, length)? == VIDEO_TRACK_TYPE;
            }
            (CLUSTER, TIMESTAMP) => self.cluster_ticks = Some(read_unsigned(source, length)?),
            (CLUSTER, SIMPLE_BLOCK) | (GROUP, BLOCK) => {
                read_track_number(source)?;
                let after = i16::from_be_bytes(source.read_array()?);
                let cluster = self.cluster_ticks.ok_or(Malformed)?;
                self.block_ticks = cluster.saturating_add_signed(after.into());
                self.last_block_ticks = self.last_block_ticks.max(self.block_ticks);
            }
            (GROUP, BLOCK_DURATION) => {
                let end = self
                    .block_ticks
                    .saturating_add(read_unsigned(source, length)?);
                self.last_block_ticks = self.last_block_ticks.max(end);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn length(&self) -> ReadResult<VideoLength> {
        // A tick of seconds is as absurd as a tick of zero.
        let scale = u32::try_from(self.scale).ok().filter(|scale| *scale > 0);
        let scale = scale.ok_or(Malformed)?;
        if !self.has_video {
            return Err(Malformed);
        }
        let seconds = self.duration * f64::from(scale) / NANOS_PER_SECOND;
        let said = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let blocks = u128::from(self.last_block_ticks) * u128::from(scale);
        Ok(VideoLength::from_nanoseconds(said.as_nanos().max(blocks)))
    }
}

fn end_of<R: Read>(source: &BoundedReader<R>, size: ElementSize) -> ReadResult<Option<u64>> {
    match size {
        ElementSize::Unknown => Ok(None),
        ElementSize::Known(length) => source
            .position()
            .checked_add(length)
            .map(Some)
            .ok_or(Malformed),
    }
}
