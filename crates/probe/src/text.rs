//! Text: the whole file must be UTF-8.

use std::io::Read;
use std::str;

use domain::file::{FileFailureReason, FileStructure};

use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};

const MAX_CHARACTER_BYTES: usize = 4;

pub(crate) fn read<R: Read>(
    mut source: BoundedReader<R>,
) -> std::result::Result<FileStructure, FileFailureReason> {
    match check_utf8(&mut source) {
        Ok(()) => Ok(FileStructure::Text),
        Err(Malformed) => Err(FileFailureReason::MalformedDocument),
    }
}

fn check_utf8<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<()> {
    loop {
        let here = source.peek()?;
        if here.is_empty() {
            return Ok(());
        }
        let read = match str::from_utf8(here) {
            Ok(_) => here.len(),
            Err(wrong) if wrong.error_len().is_some() => return Err(Malformed),
            Err(cut) => cut.valid_up_to(),
        };
        if read > 0 {
            source.consume(read);
        } else {
            check_split_character(source)?;
        }
    }
}

/// Checks a character that begins in one chunk and ends in the next.
fn check_split_character<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<()> {
    let mut character = Vec::with_capacity(MAX_CHARACTER_BYTES);
    while character.len() < MAX_CHARACTER_BYTES {
        let [byte] = source.read_array()?;
        character.push(byte);
        match str::from_utf8(&character) {
            Ok(_) => return Ok(()),
            Err(wrong) if wrong.error_len().is_some() => return Err(Malformed),
            Err(_) => {}
        }
    }
    Err(Malformed)
}
