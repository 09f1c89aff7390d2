//! MP4 and QuickTime: a walk over the boxes, in the order in which they come.
//!
//! Nothing is kept but a few numbers per track, so neither the size of a box nor the length of a
//! table costs memory. How long the video is, is the most that any of its parts says: movie
//! header, media headers, edit lists, sample tables, fragments.

mod boxes;
mod fragment;
mod movie;
mod times;
mod track;

use std::io::Read;

use domain::file::{Flaw, Structure};

use self::boxes::{Body, next};
use self::movie::Movie;
use crate::source::{Broken, Result, Source};
use crate::video::{Length, judge};

pub(crate) fn read<R: Read>(mut source: Source<R>) -> std::result::Result<Structure, Flaw> {
    judge(length(&mut source))
}

fn length<R: Read>(source: &mut Source<R>) -> Result<Length> {
    let mut movie = None;
    while !source.is_at_end()? {
        let found = next(source)?;
        match (&found.kind, &mut movie) {
            (b"moov", None) => movie = Some(Movie::read(source, found.body)?),
            // Two movies in a file: which one is played, nobody knows.
            (b"moov", Some(_)) | (b"moof", None) => return Err(Broken),
            (b"moof", Some(movie)) => fragment::read(source, found.body, movie)?,
            _ => match found.body {
                Body::Of(length) => source.skip(length)?,
                Body::ToTheEnd => source.skip_to_the_end()?,
            },
        }
    }
    movie.ok_or(Broken)?.length()
}
