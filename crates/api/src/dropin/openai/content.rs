//! `GET /openai/v1/files/{id}/content`: an input file as it was given, or the results of a batch,
//! streamed in the order of the input.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use domain::id::{GroupId, ParcelId, ProjectId};
use futures::stream::{self, Stream};
use store::Shard;
use store::shard::group::{self, GroupResultQuery};
use store::shard::parcel;

use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::openai::result_line::{ResultFile, push_line, result_line};

/// Rows of a page. The store reads fewer if they are large.
const MAX_PAGE_ROWS: u32 = 500;

pub(crate) type StreamError = Box<dyn Error + Send + Sync>;

/// An input file that is being read.
#[derive(Debug)]
pub(crate) struct InputFileReader {
    pub(crate) shard: Arc<Shard>,
    pub(crate) project: ProjectId,
    pub(crate) parcel: ParcelId,
    pub(crate) next_item: u64,
}

/// Results of a batch that are being read.
#[derive(Debug)]
pub(crate) struct ResultFileReader {
    pub(crate) shard: Arc<Shard>,
    pub(crate) project: ProjectId,
    pub(crate) group: GroupId,
    pub(crate) endpoint: Endpoint,
    pub(crate) file: ResultFile,
    /// The position of the last row that was read.
    pub(crate) after: Option<u64>,
}

impl InputFileReader {
    /// The next lines, with their line breaks. None: there are no more.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, store::Error> {
        let (shard, item) = (&self.shard, self.next_item);
        let block = parcel::read_block(shard, self.project, self.parcel, item).await?;
        let Some(block) = block else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for (place, line) in block.items_from(item) {
            bytes.extend_from_slice(&line);
            self.next_item = place + 1;
        }
        Ok(Some(Bytes::from(bytes)))
    }

    pub(crate) fn into_chunks(
        self,
    ) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
        stream::try_unfold(self, |mut reader| async move {
            let chunk = reader.next_chunk().await?;
            Ok::<_, StreamError>(chunk.map(|chunk| (chunk, reader)))
        })
    }
}

impl ResultFileReader {
    /// The lines of the next page that has some. None: there are no more.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, store::Error> {
        loop {
            let query = GroupResultQuery {
                after: self.after,
                limit: MAX_PAGE_ROWS,
                with_params: false,
            };
            let (shard, project) = (&self.shard, self.project);
            let rows = group::results_by_position(shard, project, self.group, query).await?;
            let Some(last) = rows.last() else {
                return Ok(None);
            };
            self.after = Some(last.position);
            let mut lines = Vec::new();
            for row in &rows {
                if let Some(line) = result_line(row, self.endpoint, self.file) {
                    push_line(&line, &mut lines);
                }
            }
            if !lines.is_empty() {
                return Ok(Some(Bytes::from(lines)));
            }
        }
    }

    pub(crate) fn into_chunks(
        self,
    ) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
        stream::try_unfold(self, |mut reader| async move {
            let chunk = reader.next_chunk().await.inspect_err(|error| {
                tracing::warn!(%error, "results of a batch were cut off");
            })?;
            Ok::<_, StreamError>(chunk.map(|chunk| (chunk, reader)))
        })
    }
}
