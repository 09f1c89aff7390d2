//! Loads the requests of a run in chunks, several at a time, in the order of the file.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client::ClientError;
use client::longshore_client::draw;
use client::records::BulkAnswer;
use tokio::task::JoinSet;

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::requests::request_file::{CustomIdSet, NumberedLine, RequestReader};
use crate::run::answer_store::NewAnswer;
use crate::run::bulk_chunk::{
    BulkItem, MAX_CHUNK_BYTES, MAX_CHUNK_ITEMS, failure_answer, sort_results, write_body,
};
use crate::run::chunk_queue::ChunkQueue;
use crate::run::shared_run::SharedRun;

const MAX_CONCURRENT_CHUNKS: usize = 4;
/// Between attempts without a connection. Each attempt has its own backoff, too.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// A chunk that the service has taken.
struct EndedChunk {
    number: u64,
    failures: Vec<NewAnswer>,
}

struct ChunkLoader {
    run: Arc<SharedRun>,
    queue: ChunkQueue,
    tasks: JoinSet<CliResult<EndedChunk>>,
    items: Vec<BulkItem>,
    bytes: usize,
}

/// Loads everything that an earlier process did not load.
pub async fn load_all(run: Arc<SharedRun>) -> CliResult<()> {
    let mut reader = RequestReader::open(&run.path, &run.defaults)?;
    let loaded = run.store.lock().loaded;
    run.progress.set_loaded(loaded);
    let mut ids = CustomIdSet::default();
    let mut position = 0;
    let mut chunks = ChunkLoader {
        run: Arc::clone(&run),
        queue: ChunkQueue::default(),
        tasks: JoinSet::new(),
        items: Vec::new(),
        bytes: 0,
    };
    while let Some(numbered) = reader.next_request()? {
        position = numbered.position + 1;
        let is_unique = match &numbered.request {
            Ok(request) => ids.insert(request, numbered.position),
            Err(_) => true,
        };
        if numbered.position >= loaded {
            chunks.add(numbered, is_unique).await?;
        }
    }
    if position != run.requests {
        let message = "The file changed while it was read.";
        return Err(CliError::new(ExitStatus::Failed, "file_changed", message));
    }
    chunks.send(position).await?;
    while !chunks.tasks.is_empty() {
        chunks.end_one().await?;
    }
    let mut store = run.store.lock();
    store.set_loaded(position)?;
    run.progress.set_loaded(position);
    Ok(())
}

impl ChunkLoader {
    async fn add(&mut self, numbered: NumberedLine, is_unique: bool) -> CliResult<()> {
        let position = numbered.position;
        if self.run.store.lock().is_answered(position) {
            return Ok(());
        }
        let request = match numbered.request {
            Ok(request) if is_unique => request,
            // Only with --skip-bad: without it, a faulty file is not run.
            Ok(_) => return self.fail(position, "another line has the same custom_id"),
            Err(faults) => return self.fail(position, &faults.join("; ")),
        };
        let item = BulkItem::new(request, position, &self.run.group_id);
        let is_full = self.items.len() >= MAX_CHUNK_ITEMS
            || (!self.items.is_empty() && self.bytes + item.line.len() > MAX_CHUNK_BYTES);
        if is_full {
            self.send(position).await?;
        }
        self.bytes += item.line.len();
        self.items.push(item);
        Ok(())
    }

    fn fail(&self, position: u64, error: &str) -> CliResult<()> {
        let custom_id = position.to_string();
        let answer = failure_answer(position, &custom_id, error, "invalid_line");
        self.run.append(&[answer])
    }

    /// Sends the items, which are the requests before `end`.
    async fn send(&mut self, end: u64) -> CliResult<()> {
        while self.tasks.len() >= MAX_CONCURRENT_CHUNKS {
            self.end_one().await?;
        }
        let number = self.queue.begin(end);
        let items = std::mem::take(&mut self.items);
        self.bytes = 0;
        let run = Arc::clone(&self.run);
        self.tasks.spawn(send_chunk(run, number, items));
        Ok(())
    }

    async fn end_one(&mut self) -> CliResult<()> {
        let Some(joined) = self.tasks.join_next().await else {
            return Ok(());
        };
        let ended = joined.map_err(|error| {
            let message = format!("a task ended early: {error}");
            CliError::new(ExitStatus::Failed, "internal", message)
        })??;
        self.run.append(&ended.failures)?;
        if let Some(loaded) = self.queue.end(ended.number) {
            self.run.store.lock().set_loaded(loaded)?;
        }
        Ok(())
    }
}

/// Repeats until every item is stored or refused for good.
async fn send_chunk(
    run: Arc<SharedRun>,
    number: u64,
    mut items: Vec<BulkItem>,
) -> CliResult<EndedChunk> {
    let mut failures = Vec::new();
    let mut attempt = 0;
    while !items.is_empty() {
        let body = write_body(&items);
        let answer = send_until_answered(&run, body).await?;
        let count = u64::try_from(items.len()).unwrap_or_default();
        let mut sorted = sort_results(items, &answer, attempt);
        if let Some(error) = sorted.fatal {
            return Err(error);
        }
        let left = u64::try_from(sorted.again.len()).unwrap_or_default();
        run.progress.add_loaded(count.saturating_sub(left));
        failures.append(&mut sorted.failures);
        items = sorted.again;
        if let Some(wait) = sorted.wait.filter(|_| !items.is_empty()) {
            tokio::time::sleep(draw(wait)).await;
        }
        attempt += 1;
    }
    Ok(EndedChunk { number, failures })
}

/// A batch client is patient: a lost connection never ends a run.
async fn send_until_answered(run: &SharedRun, body: Bytes) -> CliResult<BulkAnswer> {
    loop {
        match run.client.load_bulk(body.clone()).await {
            Ok(answer) => {
                run.progress.set_disconnected(false);
                return Ok(answer);
            }
            Err(error) if is_temporary(&error) => {
                run.progress.set_disconnected(true);
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the service may answer later.
pub fn is_temporary(error: &ClientError) -> bool {
    match error {
        ClientError::Transport(_) => true,
        ClientError::Refused(refusal) => {
            let code = refusal.code.as_deref();
            let is_limit =
                refusal.status == 429 && matches!(code, None | Some("rate_limit_exceeded"));
            is_limit || refusal.status >= 500 || refusal.status == 408
        }
        ClientError::UnreadableAnswer(_)
        | ClientError::Setup(_)
        | ClientError::InvalidRequest(_)
        | ClientError::File { .. } => false,
    }
}
