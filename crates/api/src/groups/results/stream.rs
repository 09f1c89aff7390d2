//! The body of the results: pages until the end, or until the time to wait is over.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use domain::error_chain;
use futures::stream::{self, Stream};

use crate::api_error::{ApiError, ErrorCause};
use crate::groups::group_wait::GroupWaiter;
use crate::groups::results::encoding::LineEncoder;
use crate::groups::results::reader::ResultReader;
use crate::waiters::FeedWaiters;

type StreamError = Box<dyn Error + Send + Sync>;

pub(super) struct ResultStream {
    reader: ResultReader,
    /// None after the end of the body.
    encoder: Option<LineEncoder>,
    waiter: GroupWaiter,
    waiters: Arc<FeedWaiters>,
    /// Whether the group was completed before its last page was read.
    is_completed: bool,
    /// Lines that were read before the response began.
    first: Option<Vec<u8>>,
    /// The last page that was read had no lines.
    is_at_end: bool,
}

impl ResultStream {
    pub(super) const fn new(
        reader: ResultReader,
        encoder: LineEncoder,
        waiter: GroupWaiter,
        waiters: Arc<FeedWaiters>,
        is_completed: bool,
        first: Option<Vec<u8>>,
    ) -> Self {
        let is_at_end = first.is_none();
        Self {
            reader,
            encoder: Some(encoder),
            waiter,
            waiters,
            is_completed,
            first,
            is_at_end,
        }
    }

    /// An error cuts the body off, so the caller sees that it is not complete.
    pub(super) fn into_chunks(
        self,
    ) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
        stream::try_unfold(self, |mut results| async move {
            let chunk = results.next_chunk().await.inspect_err(|error| {
                tracing::warn!(%error, "results of a group were cut off");
            })?;
            Ok::<_, StreamError>(chunk.map(|chunk| (chunk, results)))
        })
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StreamError> {
        let lines = self.next_lines().await?;
        let Some(mut encoder) = self.encoder.take() else {
            return Ok(None);
        };
        if let Some(lines) = lines {
            let chunk = encoder.encode(lines)?;
            self.encoder = Some(encoder);
            return Ok(Some(chunk));
        }
        let end = encoder.finish()?;
        Ok((!end.is_empty()).then_some(end))
    }

    /// The next lines. With `wait`, also those of results that are added meanwhile.
    async fn next_lines(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        if self.encoder.is_none() {
            return Ok(None);
        }
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let turn = if self.is_at_end {
                if self.is_completed || !self.waiter.wait().await {
                    return Ok(None);
                }
                // One transaction may wake many streams.
                let turn = self.waiters.acquire_read_turn().await;
                // Read before the next page: all results of a completed group are on its pages.
                let is_completed = self.reader.is_group_completed().await;
                self.is_completed = is_completed.map_err(|error| cause_of(&error))?;
                turn
            } else {
                None
            };
            let lines = self.reader.next_lines().await;
            drop(turn);
            let lines = lines.map_err(|error| cause_of(&error))?;
            self.is_at_end = lines.is_none();
            if lines.is_some() {
                return Ok(lines);
            }
        }
    }
}

fn cause_of(error: &ApiError) -> StreamError {
    match error.cause() {
        Some(ErrorCause(cause)) => error_chain::chain(cause.as_ref()).into(),
        None => error.status().to_string().into(),
    }
}
