//! `GET /anthropic/v1/messages/batches/{batch_id}/results`: one line for each item, in the order of
//! the request.

use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::error_chain;
use domain::id::{GroupId, ProjectId};
use futures::stream::{self, Stream};
use store::Shard;
use store::shard::group::{self, GroupResultQuery};

use super::error::AnthropicError;
use super::requested_batch::RequestedBatch;
use super::result_line::push_result;
use crate::key_recheck::KeyRecheck;
use crate::project_permit::hold_while_streaming;
use crate::state::App;

/// Rows of a page. The store reads fewer if they are large.
const MAX_PAGE_ROWS: u32 = 500;
const JSONL: HeaderValue = HeaderValue::from_static("application/x-jsonl");

type StreamError = Box<dyn Error + Send + Sync>;

pub(super) async fn results(
    requested: RequestedBatch,
    key: KeyRecheck,
    State(app): State<App>,
) -> Result<Response, AnthropicError> {
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let batch = requested.find_row(shard).await?;
    if batch.ended_at().is_none() {
        let message = "The batch has not ended, so it has no results yet. Retrieve it until \
                       processing_status is ended.";
        return Err(AnthropicError::invalid(message));
    }
    if batch.archived_at.is_some() {
        return Err(AnthropicError::invalid(
            "The results of this batch were deleted.",
        ));
    }
    let project = requested.caller.project;
    let permit = app.dropins.limits.begin_download(project)?;
    let mut pages = ResultPages {
        shard: Arc::clone(shard),
        project,
        group: requested.id,
        after: None,
        first: None,
    };
    // An error has a status only before the first byte of the body is sent.
    pages.first = pages.read_page().await?;
    let chunks = key.guard(pages.into_chunks());
    let body = Body::from_stream(hold_while_streaming(chunks, permit));
    Ok(([(CONTENT_TYPE, JSONL)], body).into_response())
}

struct ResultPages {
    shard: Arc<Shard>,
    project: ProjectId,
    group: GroupId,
    /// The position of the last row that was read.
    after: Option<u64>,
    /// Lines that were read before the response began.
    first: Option<Bytes>,
}

impl ResultPages {
    /// An error cuts the body off, so the caller sees that it is not complete.
    fn into_chunks(self) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
        stream::try_unfold(self, |mut pages| async move {
            let page = match pages.first.take() {
                Some(first) => Some(first),
                None => pages.read_page().await.map_err(|error| {
                    let error = error_chain::chain(&error);
                    tracing::warn!(error, "results of a batch were cut off");
                    StreamError::from(error)
                })?,
            };
            Ok::<_, StreamError>(page.map(|page| (page, pages)))
        })
    }

    async fn read_page(&mut self) -> Result<Option<Bytes>, store::Error> {
        let query = GroupResultQuery {
            after: self.after,
            limit: MAX_PAGE_ROWS,
            with_params: false,
        };
        let rows = group::results_by_position(&self.shard, self.project, self.group, query).await?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        self.after = Some(last.position);
        let mut lines = Vec::new();
        for row in rows {
            push_result(row, &mut lines);
        }
        Ok(Some(lines.into()))
    }
}
