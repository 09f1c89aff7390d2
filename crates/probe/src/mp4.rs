//! MP4 and QuickTime (ISO base media): walks the boxes in the order of the file.
//!
//! Only a few numbers per track are kept, so neither large boxes nor long tables cost memory. The
//! length of the video is the longest that any of its parts states: movie header, media headers,
//! edit lists, sample tables, fragments.

mod boxes;
mod durations;
mod fragment;
mod movie;
mod track;

use std::io::Read;

use domain::file::{FileFailureReason, FileStructure};

use self::boxes::{BoxBody, read_box_header};
use self::movie::MovieBox;
use crate::bounded_reader::{BoundedReader, Malformed, ReadResult};
use crate::video::{VideoLength, check_length};

pub(crate) fn read<R: Read>(
    mut source: BoundedReader<R>,
) -> std::result::Result<FileStructure, FileFailureReason> {
    check_length(read_length(&mut source))
}

fn read_length<R: Read>(source: &mut BoundedReader<R>) -> ReadResult<VideoLength> {
    let mut movie = None;
    while !source.is_at_end()? {
        let found = read_box_header(source)?;
        match (&found.kind, &mut movie) {
            (b"moov", None) => movie = Some(MovieBox::read(source, found.body)?),
            // Of two movies in a file, players may play either.
            (b"moov", Some(_)) | (b"moof", None) => return Err(Malformed),
            (b"moof", Some(movie)) => fragment::read(source, found.body, movie)?,
            _ => match found.body {
                BoxBody::Known(length) => source.skip(length)?,
                BoxBody::ToEnd => source.skip_to_end()?,
            },
        }
    }
    movie.ok_or(Malformed)?.length()
}
