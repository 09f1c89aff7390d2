//! Generated test files: valid ones, malformed ones and decompression bombs.
//!
//! Tests feed them to the library and to the child. Fuzzing begins with them.

mod images;
mod matroska;
mod mp4;
mod pdf;
mod text;

use domain::file::{FileFailureReason, FileStructure, MediaType};

/// What probing a file must result in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedResult {
    Valid(FileStructure),
    Refused(FileFailureReason),
    /// Any failure reason.
    AnyFailure,
    /// A file that readers may repair: this structure, or any failure reason.
    ValidOrFailure(FileStructure),
}

#[derive(Debug, Clone)]
pub struct CorpusFile {
    pub name: String,
    pub media_type: MediaType,
    pub bytes: Vec<u8>,
    pub expected: ExpectedResult,
}

impl CorpusFile {
    /// Whether the result is an expected one.
    pub fn allows(&self, found: Result<FileStructure, FileFailureReason>) -> bool {
        match self.expected {
            ExpectedResult::Valid(structure) => found == Ok(structure),
            ExpectedResult::Refused(flaw) => found == Err(flaw),
            ExpectedResult::AnyFailure => found.is_err(),
            ExpectedResult::ValidOrFailure(structure) => found.is_err() || found == Ok(structure),
        }
    }
}

/// All files, in no particular order.
pub fn all_files() -> Vec<CorpusFile> {
    let mut all = CorpusBuilder(Vec::new());
    images::add_files(&mut all);
    pdf::add_files(&mut all);
    text::add_files(&mut all);
    mp4::add_files(&mut all);
    matroska::add_files(&mut all);
    all.0
}

/// How often a valid file is truncated.
const TRUNCATIONS_PER_FILE: usize = 12;

struct CorpusBuilder(Vec<CorpusFile>);

impl CorpusBuilder {
    fn add(&mut self, name: &str, media_type: MediaType, bytes: Vec<u8>, fate: ExpectedResult) {
        let name = format!("{} {name}", media_type.as_str());
        self.0.push(CorpusFile {
            name,
            media_type,
            bytes,
            expected: fate,
        });
    }

    fn add_malformed(&mut self, name: &str, media_type: MediaType, bytes: Vec<u8>) {
        let flaw = media_type.kind().malformed_reason();
        self.add(name, media_type, bytes, ExpectedResult::Refused(flaw));
    }

    /// Adds a valid file, and truncations of it.
    fn add_with_truncations(
        &mut self,
        media_type: MediaType,
        sound: &[u8],
        structure: FileStructure,
    ) {
        self.add(
            "sound",
            media_type,
            sound.to_vec(),
            ExpectedResult::Valid(structure),
        );
        for place in 0..TRUNCATIONS_PER_FILE {
            let length = sound.len() * place / TRUNCATIONS_PER_FILE;
            let name = format!("cut off after {length} bytes");
            self.add_malformed(&name, media_type, sound[..length].to_vec());
        }
        let name = "cut off before the last byte";
        self.add_malformed(name, media_type, sound[..sound.len() - 1].to_vec());
    }
}
