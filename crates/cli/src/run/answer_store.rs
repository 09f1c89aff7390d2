//! The answers of a run on disk: `ANSWERS.part` in the order of arrival, with an index beside it.
//!
//! Answers are on disk before the index names them, so a killed process loses none that it counted.
//! At the end they are written in the order of the input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::run::answer_index::{
    AnswerRecord, HEADER_BYTES, LOADED_OFFSET, RECORD_BYTES, read_header, write_header,
};

/// An answer that has just arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAnswer {
    pub number: u64,
    pub position: u64,
    pub is_success: bool,
    pub charged: u64,
    /// Without its line feed.
    pub line: Vec<u8>,
}

/// Sums over the answers that are on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerTotals {
    pub answered: u64,
    pub failed: u64,
    /// Requests that are not in the group: the service refused them, or an earlier run has their
    /// answers.
    pub refused: u64,
    /// In nano-dollars.
    pub charged: u64,
}

#[derive(Debug)]
pub struct AnswerStore {
    output: PathBuf,
    part: File,
    index: File,
    part_length: u64,
    index_length: u64,
    /// Where the answer of each request is, by position: offset and length.
    places: Vec<Option<(u64, u64)>>,
    pub totals: AnswerTotals,
    /// The last answer in the order of completion that is on disk.
    pub last_number: u64,
    /// Requests that are loaded without a gap.
    pub loaded: u64,
}

pub fn part_path(output: &Path) -> PathBuf {
    with_suffix(output, ".part")
}

fn index_path(output: &Path) -> PathBuf {
    with_suffix(output, ".part.index")
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl AnswerStore {
    /// Continues the answers of an earlier process, or begins.
    pub fn open(output: &Path, group_id: &str, requests: u64) -> CliResult<Self> {
        let part_path = part_path(output);
        let index_path = index_path(output);
        let part = open_file(&part_path)?;
        let mut index = open_file(&index_path)?;
        let mut bytes = Vec::new();
        index
            .read_to_end(&mut bytes)
            .map_err(|error| CliError::file(&index_path, &error))?;
        let header = bytes.get(..HEADER_BYTES).and_then(read_header);
        let count = usize::try_from(requests).map_err(|_| too_many_requests())?;
        let mut store = Self {
            output: output.to_owned(),
            part,
            index,
            part_length: 0,
            index_length: 0,
            places: vec![None; count],
            totals: AnswerTotals::default(),
            last_number: 0,
            loaded: 0,
        };
        match header {
            Some((group, _)) if group != group_id => Err(other_run(output, &part_path)),
            Some((_, loaded)) => {
                store.loaded = loaded.min(requests);
                store.read_records(bytes.get(HEADER_BYTES..).unwrap_or_default())?;
                Ok(store)
            }
            None => {
                store.begin(group_id)?;
                Ok(store)
            }
        }
    }

    fn begin(&mut self, group_id: &str) -> CliResult<()> {
        let header = write_header(group_id);
        self.part.set_len(0).map_err(|error| self.failed(&error))?;
        self.index.set_len(0).map_err(|error| self.failed(&error))?;
        write_at(&mut self.index, 0, &header).map_err(|error| self.failed(&error))?;
        self.index_length = length_of(&header);
        Ok(())
    }

    /// Keeps the records up to the first that does not fit, and cuts both files there.
    fn read_records(&mut self, bytes: &[u8]) -> CliResult<()> {
        let metadata = self.part.metadata();
        let available = metadata.map_err(|error| self.failed(&error))?.len();
        self.index_length = HEADER_BYTES as u64;
        for chunk in bytes.chunks_exact(RECORD_BYTES) {
            let Some(record) = AnswerRecord::from_bytes(chunk) else {
                break;
            };
            let end = record.offset.saturating_add(record.length);
            if record.offset != self.part_length || end > available || !self.count(&record) {
                break;
            }
            self.part_length = end;
            self.index_length += RECORD_BYTES as u64;
        }
        let cut = self.part.set_len(self.part_length);
        cut.map_err(|error| self.failed(&error))?;
        let cut = self.index.set_len(self.index_length);
        cut.map_err(|error| self.failed(&error))
    }

    /// False if the file has no request at this position.
    fn count(&mut self, record: &AnswerRecord) -> bool {
        let place = usize::try_from(record.position).ok();
        let Some(place) = place.and_then(|place| self.places.get_mut(place)) else {
            return false;
        };
        *place = Some((record.offset, record.length));
        self.totals.answered += 1;
        self.totals.failed += u64::from(!record.is_success);
        self.totals.refused += u64::from(record.number == 0);
        self.totals.charged = self.totals.charged.saturating_add(record.charged);
        self.last_number = self.last_number.max(record.number);
        true
    }

    pub fn is_answered(&self, position: u64) -> bool {
        let place = usize::try_from(position).ok();
        place
            .and_then(|place| self.places.get(place))
            .is_some_and(Option::is_some)
    }

    /// Stores answers. One that is there already is skipped.
    pub fn append(&mut self, answers: &[NewAnswer]) -> CliResult<()> {
        let (mut lines, mut records) = (Vec::new(), Vec::new());
        let mut stored = Vec::new();
        let mut offset = self.part_length;
        for answer in answers {
            let is_repeated = stored
                .iter()
                .any(|it: &AnswerRecord| it.position == answer.position);
            if self.is_answered(answer.position) || is_repeated {
                self.last_number = self.last_number.max(answer.number);
                continue;
            }
            let record = AnswerRecord {
                number: answer.number,
                position: answer.position,
                offset,
                length: length_of(&answer.line) + 1,
                charged: answer.charged,
                is_success: answer.is_success,
            };
            lines.extend_from_slice(&answer.line);
            lines.push(b'\n');
            records.extend_from_slice(&record.to_bytes());
            offset += record.length;
            stored.push(record);
        }
        self.write(&lines, &records)
            .map_err(|error| self.failed(&error))?;
        for record in &stored {
            if !self.count(record) {
                return Err(answer_without_request(record.position));
            }
        }
        Ok(())
    }

    /// The answers first: a record never names bytes that a power failure can lose.
    fn write(&mut self, lines: &[u8], records: &[u8]) -> io::Result<()> {
        write_at(&mut self.part, self.part_length, lines)?;
        self.part.sync_data()?;
        write_at(&mut self.index, self.index_length, records)?;
        self.part_length += length_of(lines);
        self.index_length += length_of(records);
        Ok(())
    }

    /// Remembers that the first requests are loaded, so that the next process skips them.
    pub fn set_loaded(&mut self, loaded: u64) -> CliResult<()> {
        self.loaded = loaded;
        write_at(&mut self.index, LOADED_OFFSET, &loaded.to_le_bytes())
            .map_err(|error| self.failed(&error))
    }

    /// Writes all answers in the order of the input, and removes the temporary files.
    pub fn finish(&mut self) -> CliResult<AnswerTotals> {
        let draft = with_suffix(&self.output, ".new");
        self.assemble(&draft).map_err(|error| self.failed(&error))?;
        fs::rename(&draft, &self.output).map_err(|error| self.failed(&error))?;
        // The answers are safe. A file that stays is only in the way.
        let _removed = fs::remove_file(part_path(&self.output));
        let _removed = fs::remove_file(index_path(&self.output));
        Ok(self.totals)
    }

    fn assemble(&mut self, draft: &Path) -> io::Result<()> {
        let mut writer = BufWriter::new(File::create(draft)?);
        let mut line = Vec::new();
        for (offset, length) in self.places.iter().flatten().copied() {
            line.clear();
            self.part.seek(SeekFrom::Start(offset))?;
            let read = (&mut self.part).take(length).read_to_end(&mut line)?;
            if length_of(&line) != length {
                let message = format!("answer at {offset} has {read} bytes, not {length}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            writer.write_all(&line)?;
        }
        let file = writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    }

    fn failed(&self, error: &io::Error) -> CliError {
        CliError::file(&part_path(&self.output), error)
    }
}

fn open_file(path: &Path) -> CliResult<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let opened = options.open(path);
    opened.map_err(|error| CliError::file(path, &error))
}

fn write_at(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

fn length_of(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

fn other_run(output: &Path, part: &Path) -> CliError {
    let message = format!("{} has answers of another run.", part.display());
    let next = format!(
        "Choose another file than {} with -o, or delete {} and its index.",
        output.display(),
        part.display()
    );
    CliError::new(ExitStatus::Failed, "other_run", message).with_next(next)
}

fn answer_without_request(position: u64) -> CliError {
    let message = format!("The group has an answer for position {position}, which the file lacks.");
    CliError::new(ExitStatus::Failed, "other_file", message)
        .with_next("The group belongs to another file: choose another --name.")
}

fn too_many_requests() -> CliError {
    CliError::new(
        ExitStatus::Failed,
        "file_too_large",
        "The file has too many lines.",
    )
}

#[cfg(test)]
mod tests;
