//! The answers of a run that has ended, for one that loads its failed requests again.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::run::answer_store::{AnswerStore, NewAnswer};

/// Answers that are stored together.
const MAX_BATCH_LINES: usize = 500;

/// The answers in the output of a run.
#[derive(Debug)]
pub struct EarlierAnswers {
    path: PathBuf,
    /// Requests that the service took, and that failed.
    pub failed: u64,
    /// Requests that the service refused.
    refused: u64,
    /// Of the failed cargo: other ones are another retry.
    pub failed_digest: [u8; 32],
}

#[derive(Debug, Deserialize)]
struct EarlierLine {
    position: u64,
    success: bool,
    cargo_id: Option<String>,
    #[serde(default)]
    cost: EarlierCost,
}

#[derive(Debug, Default, Deserialize)]
struct EarlierCost {
    #[serde(default)]
    charged: u64,
}

impl EarlierLine {
    /// A request that the service refused would be refused again: its answer stays.
    fn failed_cargo(&self) -> Option<&str> {
        self.cargo_id.as_deref().filter(|_| !self.success)
    }
}

impl EarlierAnswers {
    /// Fails if the output does not have one answer for each request, in their order.
    pub fn read(path: &Path, requests: u64) -> CliResult<Self> {
        let (mut count, mut failed, mut refused) = (0, 0, 0);
        let mut digest = Sha256::new();
        for_each_line(path, |line, _| {
            if line.position != count {
                return Err(other_answers(path));
            }
            count += 1;
            if let Some(cargo) = line.failed_cargo() {
                failed += 1;
                digest.update(cargo.as_bytes());
            } else if !line.success {
                refused += 1;
            }
            Ok(())
        })?;
        if count != requests {
            return Err(other_answers(path));
        }
        Ok(Self {
            path: path.to_owned(),
            failed,
            refused,
            failed_digest: digest.finalize().into(),
        })
    }

    /// That of a run which retries nothing.
    pub const fn exit_status(&self) -> ExitStatus {
        if self.failed + self.refused > 0 {
            ExitStatus::SomeItemsFailed
        } else {
            ExitStatus::Done
        }
    }

    /// Adds all answers that stay. Those that the store has are skipped.
    pub fn keep_in(&self, store: &mut AnswerStore) -> CliResult<()> {
        let mut answers = Vec::new();
        for_each_line(&self.path, |line, bytes| {
            if line.failed_cargo().is_none() {
                answers.push(NewAnswer {
                    // It is not a result of the new group.
                    number: 0,
                    position: line.position,
                    is_success: line.success,
                    charged: line.cost.charged,
                    line: bytes.to_vec(),
                });
            }
            if answers.len() >= MAX_BATCH_LINES {
                store.append(&std::mem::take(&mut answers))?;
            }
            Ok(())
        })?;
        store.append(&answers)
    }
}

fn for_each_line(
    path: &Path,
    mut each: impl FnMut(EarlierLine, &[u8]) -> CliResult<()>,
) -> CliResult<()> {
    let failed = |error: &std::io::Error| CliError::file(path, error);
    let mut reader = BufReader::new(File::open(path).map_err(|error| failed(&error))?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|error| failed(&error))? == 0 {
            return Ok(());
        }
        let line = bytes.trim_ascii_end();
        let parsed = serde_json::from_slice(line).map_err(|_| other_answers(path))?;
        each(parsed, line)?;
    }
}

fn other_answers(path: &Path) -> CliError {
    let message = format!(
        "{} does not have one answer for each request of the file, in their order.",
        path.display()
    );
    CliError::new(ExitStatus::Failed, "other_answers", message)
        .with_next("Give the output of the finished run with -o.")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ANSWERS: &str = concat!(
        r#"{"position":0,"success":true,"cargo_id":"crg_1","cost":{"charged":5}}"#,
        "\n",
        r#"{"position":1,"success":false,"cargo_id":"crg_2","cost":{"charged":0}}"#,
        "\n",
        r#"{"position":2,"success":false,"cargo_id":null}"#,
        "\n",
    );

    #[test]
    fn answers_that_stay_are_kept_once_and_the_failed_ones_are_open() {
        let name = format!("longshore-earlier-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let output = folder.join("answers.jsonl");
        fs::write(&output, ANSWERS).unwrap();
        let earlier = EarlierAnswers::read(&output, 3).unwrap();
        assert_eq!((earlier.failed, earlier.refused), (1, 1));
        let draft = folder.join("answers.jsonl.retry");
        let mut store = AnswerStore::open(&draft, "grp_2", 3).unwrap();
        for _ in 0..2 {
            earlier.keep_in(&mut store).unwrap();
        }
        let answered: Vec<bool> = (0..3).map(|position| store.is_answered(position)).collect();
        assert_eq!(answered, [true, false, true]);
        assert_eq!(store.totals.answered, 2);
        assert_eq!(store.totals.refused, 2);
        assert_eq!(store.totals.charged, 5);
        assert_eq!(store.last_number, 0);
        // Another file.
        let error = EarlierAnswers::read(&output, 4).unwrap_err();
        assert_eq!(error.exit, ExitStatus::Failed);
        let _removed = fs::remove_dir_all(&folder);
    }
}
