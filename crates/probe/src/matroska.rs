//! Matroska and WebM: a walk over the elements, in the order in which they come.
//!
//! Live recordings know neither their length nor the size of their segment and clusters; then the
//! time of the last block is the length. Otherwise it is the more of the two.

mod element;
mod segment;

use std::io::Read;

use domain::file::{Flaw, Structure};

use self::element::{Size, body, header};
use self::segment::Segment;
use crate::source::{Broken, Result, Source};
use crate::video::{Length, judge};

const EBML: u32 = 0x1a45_dfa3;
const DOCTYPE: u32 = 0x4282;
const SEGMENT: u32 = 0x1853_8067;
const VOID: u32 = 0xec;

/// More than any writer puts there.
const LONGEST_HEADER: u64 = 4096;

pub(crate) fn read<R: Read>(
    mut source: Source<R>,
    doctype: &[u8],
) -> std::result::Result<Structure, Flaw> {
    judge(length(&mut source, doctype))
}

fn length<R: Read>(source: &mut Source<R>, doctype: &[u8]) -> Result<Length> {
    head(source, doctype)?;
    loop {
        let (id, size) = header(source)?;
        match (id, size) {
            (SEGMENT, size) => return Segment::read(source, size)?.length(),
            (VOID, Size::Of(length)) => source.skip(length)?,
            _ => return Err(Broken),
        }
    }
}

/// The header must be readable, and of the form that was declared.
fn head<R: Read>(source: &mut Source<R>, doctype: &[u8]) -> Result<()> {
    let (EBML, Size::Of(length @ ..=LONGEST_HEADER)) = header(source)? else {
        return Err(Broken);
    };
    let end = source.at() + length;
    let mut is_of_it = false;
    while source.at() < end {
        let (id, Size::Of(length @ ..=LONGEST_HEADER)) = header(source)? else {
            return Err(Broken);
        };
        let found = body(source, length)?;
        if id == DOCTYPE {
            let text = found.split(|byte| *byte == 0).next();
            is_of_it = text == Some(doctype);
        }
    }
    if is_of_it && source.at() == end {
        Ok(())
    } else {
        Err(Broken)
    }
}
