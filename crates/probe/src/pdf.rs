//! PDF: counts the pages one by one.
//!
//! The whole file is in memory, because a PDF is read from its end. The parser bounds nesting and
//! the size of inflated streams, and only page trees are kept. It allocates the row of a predictor
//! in the size that the file states; the sandbox refuses too much memory.

mod object_filter;
mod pages;

use std::io::Read;

use domain::file::{FileFailureReason, FileStructure};
use lopdf::xref::XrefEntry;
use lopdf::{Document, Error, LoadOptions};

use crate::bounded_reader::{BoundedReader, Malformed};

/// What one stream may inflate to.
const MAX_INFLATED_BYTES: usize = 16 << 20;

pub(crate) fn read<R: Read>(source: BoundedReader<R>) -> Result<FileStructure, FileFailureReason> {
    let Ok(whole) = source.read_to_end() else {
        return Err(FileFailureReason::MalformedDocument);
    };
    let options = LoadOptions {
        filter: Some(object_filter::keep_page_tree_object),
        max_decompressed_size: Some(MAX_INFLATED_BYTES),
        ..LoadOptions::default()
    };
    let document = Document::load_mem_with_options(&whole, options)
        .map_err(|error| failure_reason_of(&error))?;
    // Also one that opens without a password: the next reader may have to ask for it.
    if document.trailer.has(b"Encrypt") || document.was_encrypted() {
        return Err(FileFailureReason::EncryptedDocument);
    }
    if !has_all_object_streams(&document) {
        return Err(FileFailureReason::MalformedDocument);
    }
    match pages::count_pages(&document) {
        Ok(pages) => Ok(FileStructure::Pages(pages)),
        Err(pages::PageCountError::TooMany) => Err(FileFailureReason::TooManyPages),
        Err(pages::PageCountError::Malformed(Malformed)) => {
            Err(FileFailureReason::MalformedDocument)
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other error means that the file is malformed"
)]
fn failure_reason_of(error: &Error) -> FileFailureReason {
    match error {
        Error::Decryption(_)
        | Error::InvalidPassword
        | Error::AlreadyEncrypted
        | Error::UnsupportedSecurityHandler(_) => FileFailureReason::EncryptedDocument,
        _ => FileFailureReason::MalformedDocument,
    }
}

/// The parser skips an object stream that inflates beyond its bound. We refuse the file.
fn has_all_object_streams(document: &Document) -> bool {
    let entries = document.reference_table.entries.values();
    entries.into_iter().all(|entry| match entry {
        XrefEntry::Compressed { container, .. } => document.objects.contains_key(&(*container, 0)),
        XrefEntry::Free | XrefEntry::UnusableFree | XrefEntry::Normal { .. } => true,
    })
}
