//! A file of requests: read line by line, so that its size does not matter.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::cli_error::{CliError, CliResult};
use crate::requests::request_line::{self, LineDefaults, ParsedRequest};

/// More faults are counted, not kept.
const MAX_KEPT_FAULTS: usize = 1_000;
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    /// From 1.
    pub line: u64,
    pub faults: Vec<String>,
}

/// What a pass over the whole file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// Lines with content: each gets an answer.
    pub requests: u64,
    pub sha256: [u8; 32],
    pub faults: Vec<LineFault>,
    pub faulty_lines: u64,
}

/// A line with content.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedLine {
    /// From 1, with empty lines.
    pub line: u64,
    /// From 0, without empty lines.
    pub position: u64,
    pub request: Result<ParsedRequest, Vec<String>>,
}

/// Reads the lines of a file, one at a time.
pub struct RequestReader {
    path: PathBuf,
    file: BufReader<File>,
    defaults: LineDefaults,
    digest: Sha256,
    line: u64,
    position: u64,
    buffer: Vec<u8>,
}

impl RequestReader {
    pub fn open(path: &Path, defaults: &LineDefaults) -> CliResult<Self> {
        let file = File::open(path).map_err(|error| CliError::file(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(READ_BUFFER_BYTES, file),
            defaults: defaults.clone(),
            digest: Sha256::new(),
            line: 0,
            position: 0,
            buffer: Vec::new(),
        })
    }

    /// The next line with content, or None at the end.
    pub fn next_request(&mut self) -> CliResult<Option<NumberedLine>> {
        loop {
            self.buffer.clear();
            let read = self.file.read_until(b'\n', &mut self.buffer);
            let length = read.map_err(|error| CliError::file(&self.path, &error))?;
            if length == 0 {
                return Ok(None);
            }
            self.digest.update(&self.buffer);
            self.line += 1;
            let content = self.buffer.trim_ascii();
            if content.is_empty() {
                continue;
            }
            let request = request_line::parse(content, &self.defaults);
            self.position += 1;
            return Ok(Some(NumberedLine {
                line: self.line,
                position: self.position - 1,
                request,
            }));
        }
    }
}

/// Checks every line, also against the others.
pub fn check(path: &Path, defaults: &LineDefaults) -> CliResult<FileSummary> {
    let mut reader = RequestReader::open(path, defaults)?;
    let mut ids = CustomIdSet::default();
    let mut faults = Vec::new();
    let mut faulty_lines = 0;
    while let Some(numbered) = reader.next_request()? {
        let mut line_faults = match &numbered.request {
            Ok(_) => Vec::new(),
            Err(faults) => faults.clone(),
        };
        if let Ok(request) = &numbered.request
            && !ids.insert(request, numbered.position)
        {
            line_faults.push("another line has the same custom_id".to_owned());
        }
        if !line_faults.is_empty() {
            faulty_lines += 1;
            if faults.len() < MAX_KEPT_FAULTS {
                faults.push(LineFault {
                    line: numbered.line,
                    faults: line_faults,
                });
            }
        }
    }
    Ok(FileSummary {
        requests: reader.position,
        sha256: reader.digest.finalize().into(),
        faults,
        faulty_lines,
    })
}

/// The custom ids of a file, as short digests: they may be long and many.
#[derive(Debug, Default)]
pub struct CustomIdSet(HashSet<[u8; 16]>);

impl CustomIdSet {
    /// False if another line has the id. A line without one has its position.
    pub fn insert(&mut self, request: &ParsedRequest, position: u64) -> bool {
        let digest: [u8; 32] = Sha256::digest(custom_id(request, position).as_bytes()).into();
        let mut short = [0; 16];
        for (to, from) in short.iter_mut().zip(digest) {
            *to = from;
        }
        self.0.insert(short)
    }
}

/// The id of a request in its group.
pub fn custom_id(request: &ParsedRequest, position: u64) -> String {
    let given = request.custom_id.clone();
    given.unwrap_or_else(|| position.to_string())
}
