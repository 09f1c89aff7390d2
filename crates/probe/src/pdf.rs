//! PDF: how many pages there are, counted one by one.
//!
//! The whole file is in memory, for its parts are found from its end. The parser keeps nesting
//! and the length of what it inflates within bounds; of what it reads only page trees are kept.
//! One thing it sizes by the file's own word, the row of a predictor: it asks whether there is so
//! much memory, and the sandbox says no.

mod keep;
mod pages;

use std::io::Read;

use domain::file::{Flaw, Structure};
use lopdf::xref::XrefEntry;
use lopdf::{Document, Error, LoadOptions};

use crate::source::{Broken, Source};

/// What one stream may inflate to.
const MOST_INFLATED: usize = 16 << 20;

pub(crate) fn read<R: Read>(source: Source<R>) -> Result<Structure, Flaw> {
    let Ok(whole) = source.whole() else {
        return Err(Flaw::MalformedDocument);
    };
    let options = LoadOptions {
        filter: Some(keep::keep),
        max_decompressed_size: Some(MOST_INFLATED),
        ..LoadOptions::default()
    };
    let document =
        Document::load_mem_with_options(&whole, options).map_err(|error| flaw(&error))?;
    // Also one that opens without a password: whoever reads it next may have to ask for it.
    if document.trailer.has(b"Encrypt") || document.was_encrypted() {
        return Err(Flaw::EncryptedDocument);
    }
    if !is_whole(&document) {
        return Err(Flaw::MalformedDocument);
    }
    match pages::count(&document) {
        Ok(pages) => Ok(Structure::Pages(pages)),
        Err(pages::Refusal::TooMany) => Err(Flaw::TooManyPages),
        Err(pages::Refusal::Broken(Broken)) => Err(Flaw::MalformedDocument),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else went wrong, the file is malformed"
)]
fn flaw(error: &Error) -> Flaw {
    match error {
        Error::Decryption(_)
        | Error::InvalidPassword
        | Error::AlreadyEncrypted
        | Error::UnsupportedSecurityHandler(_) => Flaw::EncryptedDocument,
        _ => Flaw::MalformedDocument,
    }
}

/// The parser passes over a stream of objects that inflates beyond bounds. We do not.
fn is_whole(document: &Document) -> bool {
    let entries = document.reference_table.entries.values();
    entries.into_iter().all(|entry| match entry {
        XrefEntry::Compressed { container, .. } => document.objects.contains_key(&(*container, 0)),
        XrefEntry::Free | XrefEntry::UnusableFree | XrefEntry::Normal { .. } => true,
    })
}
