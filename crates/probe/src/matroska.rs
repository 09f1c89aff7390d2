//! Matroska and WebM: walks the elements in the order of the file.
//!
//! Live recordings state neither their length nor the size of segment and clusters; then the time
//! of the last block is the length. Otherwise the longer of the two counts.

mod element;
mod segment;

use std::io::Read;

use domain::file::{FileFailureReason, FileStructure};

use self::element::{ElementSize, read_body, read_element_header};
use self::segment::Segment;
use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};
use crate::video::{VideoLength, check_length};

const EBML: u32 = 0x1a45_dfa3;
const DOCTYPE_ID: u32 = 0x4282;
const SEGMENT: u32 = 0x1853_8067;
const VOID: u32 = 0xec;

/// Real headers are shorter.
const MAX_HEADER_BYTES: u64 = 4096;

pub(crate) fn read<R: Read>(
    mut source: BoundedReader<R>,
    doctype: &[u8],
) -> std::result::Result<FileStructure, FileFailureReason> {
    check_length(read_length(&mut source, doctype))
}

fn read_length<R: Read>(source: &mut BoundedReader<R>, doctype: &[u8]) -> ReadResult<VideoLength> {
    check_header(source, doctype)?;
    loop {
        let (id, size) = read_element_header(source)?;
        match (id, size) {
            (SEGMENT, size) => return Segment::read(source, size)?.length(),
            (VOID, ElementSize::Known(length)) => source.skip(length)?,
            _ => return Err(Malformed),
        }
    }
}

/// The header must be readable and have the declared document type.
fn check_header<R: Read>(source: &mut BoundedReader<R>, doctype: &[u8]) -> ReadResult<()> {
    let (EBML, ElementSize::Known(length @ ..=MAX_HEADER_BYTES)) = read_element_header(source)?
    else {
        return Err(Malformed);
    };
    let end = source.position() + length;
    let mut is_of_it = false;
    while source.position() < end {
        let (id, ElementSize::Known(length @ ..=MAX_HEADER_BYTES)) = read_element_header(source)?
        else {
            return Err(Malformed);
        };
        let found = read_body(source, length)?;
        if id == DOCTYPE_ID {
            let text = found.split(|byte| *byte == 0).next();
            is_of_it = text == Some(doctype);
        }
    }
    if is_of_it && source.position() == end {
        Ok(())
    } else {
        Err(Malformed)
    }
}
