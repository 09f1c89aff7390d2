//! Checks all lines of a file before a batch is created of it, and adds up what they may cost.

use std::sync::Arc;

use domain::file::FileKind;
use domain::id::{FileId, GroupId};
use serde_json::Value;
use store::shard::file::reference;
use store::shard::parcel::{self, ParcelBlock, ParcelRow};
use tokio::task::yield_now;

use crate::api_error::{ApiError, OpenAiApiError};
use crate::caller::Caller;
use crate::cargo::item_load;
use crate::dropin::funds::BatchHold;
use crate::dropin::openai::convert_item::convert_line;
use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::openai::envelope::{LineChecker, LineError, read_line};
use crate::dropin::openai::options::BatchOptions;
use crate::dropin::openai::request::{ConversionDefaults, referenced_files};
use crate::state::App;

/// What the check of a file found.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    /// Lines that are no requests of the endpoint.
    pub(crate) errors: Vec<LineError>,
    /// Of all requests that can be loaded, without the files that they reference.
    pub(crate) hold: BatchHold,
    /// Those of the request, with what the conversion of the lines needs.
    pub(crate) options: BatchOptions,
}

/// 400: the project has no such file, or no longer.
pub(crate) fn missing_file() -> OpenAiApiError {
    let message = "The input file does not exist. Upload it with purpose batch first.";
    OpenAiApiError::invalid(Some("input_file_id"), "invalid_input_file_id", message)
}

/// A file of the caller that becomes a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileCheck<'a> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    pub(crate) file: &'a ParcelRow,
    pub(crate) endpoint: Endpoint,
    pub(crate) group: GroupId,
}

impl FileCheck<'_> {
    pub(crate) async fn run(self, options: BatchOptions) -> Result<CheckedFile, OpenAiApiError> {
        let shard = &self.app.shard_handle(self.caller.berth)?.shard;
        let mut checker = LineChecker::new(self.endpoint);
        let (mut options, mut hold) = (options, BatchHold::default());
        let mut item = 0;
        while item < self.file.items && !checker.is_full() {
            let (project, file) = (self.caller.project, self.file.id);
            let block = parcel::read_block(shard, project, file, item).await?;
            // It was deleted, or has expired, since the request began.
            let block = block.ok_or_else(missing_file)?;
            let next = block.first_item + block.items.len() as u64;
            let files = self.check_block(&block, &mut checker, &mut options.defaults);
            self.add_file_kinds(files, &mut options.defaults).await?;
            // A batch with an error fails, so it costs nothing.
            if !checker.has_errors() {
                self.add_holds(&options, block, &mut hold);
            }
            // Other requests have their turn between blocks.
            yield_now().await;
            item = next;
        }
        Ok(CheckedFile {
            errors: checker.finish(),
            hold,
            options,
        })
    }

    /// Checks the lines of a block, adds the largest answers of their models, and returns the files
    /// that they reference. One line is parsed at a time.
    fn check_block(
        &self,
        block: &ParcelBlock,
        checker: &mut LineChecker,
        defaults: &mut ConversionDefaults,
    ) -> Vec<FileId> {
        let catalogue = Arc::clone(&self.app.catalogue.borrow());
        let mut files = Vec::new();
        for item in &block.items {
            let Some(line) = checker.check(item) else {
                continue;
            };
            let model = line.body.get("model").and_then(Value::as_str);
            let model = model.and_then(|model| catalogue.find(model));
            if let Some((id, most)) = model.and_then(|it| Some((&it.id, it.max_output?))) {
                defaults.max_tokens.insert(id.clone(), most);
            }
            let mut named = Vec::new();
            for value in line.body.values() {
                referenced_files(value, &mut named);
            }
            files.extend(named.iter().filter_map(|id| id.parse::<FileId>().ok()));
        }
        files
    }

    /// A line that cannot be loaded costs nothing.
    fn add_holds(&self, options: &BatchOptions, block: ParcelBlock, hold: &mut BatchHold) {
        let first = block.first_item;
        for (position, item) in block.items_from(first) {
            let Some(Ok(converted)) = read_line(&item).map(|line| convert_line(options, line))
            else {
                continue;
            };
            let load = converted.into_load(self.group, position);
            if let Ok(single) = item_load::check_item(self.app, self.caller, &load) {
                hold.add(&single);
            }
        }
    }

    /// Adds the kinds of files.
    async fn add_file_kinds(
        &self,
        mut ids: Vec<FileId>,
        defaults: &mut ConversionDefaults,
    ) -> Result<(), ApiError> {
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        let shard = &self.app.shard_handle(self.caller.berth)?.shard;
        let found = reference::find(shard, self.caller.project, &ids).await?;
        for (id, file) in found {
            let kind = file.media_type.kind();
            if kind != FileKind::Document {
                let kind = kind.as_str().to_owned();
                defaults.file_kinds.insert(id.to_string(), kind);
            }
        }
        Ok(())
    }
}
