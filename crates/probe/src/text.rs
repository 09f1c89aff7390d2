//! Text is UTF-8, all of it.

use std::io::Read;
use std::str;

use domain::file::{Flaw, Structure};

use crate::source::{Broken, Result, Source};

/// No character is longer.
const LONGEST_CHARACTER: usize = 4;

pub(crate) fn read<R: Read>(mut source: Source<R>) -> std::result::Result<Structure, Flaw> {
    match all_of(&mut source) {
        Ok(()) => Ok(Structure::Text),
        Err(Broken) => Err(Flaw::MalformedDocument),
    }
}

fn all_of<R: Read>(source: &mut Source<R>) -> Result<()> {
    loop {
        let here = source.peek()?;
        if here.is_empty() {
            return Ok(());
        }
        let read = match str::from_utf8(here) {
            Ok(_) => here.len(),
            Err(wrong) if wrong.error_len().is_some() => return Err(Broken),
            Err(cut) => cut.valid_up_to(),
        };
        if read > 0 {
            source.take(read);
        } else {
            across_the_border(source)?;
        }
    }
}

/// A character that begins in one chunk and ends in the next.
fn across_the_border<R: Read>(source: &mut Source<R>) -> Result<()> {
    let mut character = Vec::with_capacity(LONGEST_CHARACTER);
    while character.len() < LONGEST_CHARACTER {
        let [byte] = source.exactly()?;
        character.push(byte);
        match str::from_utf8(&character) {
            Ok(_) => return Ok(()),
            Err(wrong) if wrong.error_len().is_some() => return Err(Broken),
            Err(_) => {}
        }
    }
    Err(Broken)
}
