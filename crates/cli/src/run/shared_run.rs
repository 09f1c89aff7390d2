//! What loading and collecting share.

use std::path::PathBuf;

use client::LongshoreClient;
use parking_lot::Mutex;

use crate::cli_error::CliResult;
use crate::requests::request_line::LineDefaults;
use crate::run::answer_store::{AnswerStore, NewAnswer};
use crate::run::progress::RunProgress;

#[derive(Debug)]
pub struct SharedRun {
    pub client: LongshoreClient,
    pub group_id: String,
    pub path: PathBuf,
    pub defaults: LineDefaults,
    /// Lines of the file with content.
    pub requests: u64,
    pub store: Mutex<AnswerStore>,
    pub progress: RunProgress,
}

impl SharedRun {
    pub fn append(&self, answers: &[NewAnswer]) -> CliResult<()> {
        let mut store = self.store.lock();
        store.append(answers)?;
        self.progress.set_totals(store.totals);
        Ok(())
    }

    pub fn is_complete(&self) -> bool {
        self.store.lock().totals.answered >= self.requests
    }
}
