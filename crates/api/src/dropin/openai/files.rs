//! Reading, listing and deleting files: input files, and the results of batches.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use domain::dropin::Facade;
use domain::id::{GroupId, ParcelId, ParcelKind};
use domain::time::Timestamp;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};
use store::shard::dropin::DropinBatch;
use store::shard::parcel::{self, ParcelRow};

use crate::api_error::OpenAiApiError;
use crate::caller::Caller;
use crate::dropin::batch_id::read_id;
use crate::dropin::openai::batch_object::result_file_since;
use crate::dropin::openai::batches::{find_by_group, list_object};
use crate::dropin::openai::caller::OpenAiCaller;
use crate::dropin::openai::content::{InputFileReader, ResultFileReader};
use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::openai::file_id::{FILE_PREFIX, NamedFile};
use crate::dropin::openai::file_object::{INPUT_PURPOSE, write_input_file, write_result_file};
use crate::dropin::openai::list_query::parse_list_query;
use crate::dropin::openai::options::BatchOptions;
use crate::dropin::openai::result_line::ResultFile;
use crate::key_recheck::KeyRecheck;
use crate::project_permit::hold_while_streaming;
use crate::state::App;

/// `OpenAI`'s limit is higher. A client that pages gets all of them.
const MAX_LISTED_FILES: u32 = 1_000;
const CONTENT: HeaderValue = HeaderValue::from_static("application/octet-stream");

pub(crate) async fn retrieve(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, OpenAiApiError> {
    let object = match named(&id, &caller)? {
        NamedFile::Input(parcel) => write_input_file(&find_input(&app, &caller, parcel).await?),
        NamedFile::Result { batch, file } => {
            let (batch, ended_at) = find_result(&app, &caller, batch, file).await?;
            write_result_file(&batch, file, ended_at)
        }
    };
    Ok(Json(object))
}

pub(crate) async fn content(
    OpenAiCaller(caller): OpenAiCaller,
    key: KeyRecheck,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, OpenAiApiError> {
    let permit = app.dropins.limits.begin_download(caller.project)?;
    let body = match named(&id, &caller)? {
        NamedFile::Input(parcel) => {
            let file = find_input(&app, &caller, parcel).await?;
            let reader = InputFileReader {
                shard: Arc::clone(&app.shard_handle(caller.berth)?.shard),
                project: caller.project,
                parcel: file.id,
                next_item: 0,
            };
            let chunks = key.guard(reader.into_chunks());
            Body::from_stream(hold_while_streaming(chunks, permit))
        }
        NamedFile::Result { batch, file } => {
            let (batch, _) = find_result(&app, &caller, batch, file).await?;
            let reader = result_reader(&app, &caller, &batch, file)?;
            let chunks = key.guard(reader.into_chunks());
            Body::from_stream(hold_while_streaming(chunks, permit))
        }
    };
    Ok(([(CONTENT_TYPE, CONTENT)], body).into_response())
}

/// Only input files are listed. The batch names the files of its results.
pub(crate) async fn list(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<Value>, OpenAiApiError> {
    let query = parse_list_query(&uri, MAX_LISTED_FILES)?;
    if query
        .purpose
        .is_some_and(|purpose| purpose != INPUT_PURPOSE)
    {
        return Ok(Json(list_object(&[], false)));
    }
    let after = query.after.map(|id| {
        let id = read_id::<ParcelKind>(FILE_PREFIX, &id);
        id.ok_or_else(|| OpenAiApiError::invalid(Some("after"), "invalid_value", NO_FILE))
    });
    let after = after.transpose()?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let (limit, now) = (query.limit, shard.clock.now());
    let facade = Facade::OpenAi;
    let found = parcel::list(shard, caller.project, facade, after, limit + 1, now).await?;
    let has_more = u64::from(limit) < found.len() as u64;
    let page = found
        .iter()
        .take(usize::try_from(limit).unwrap_or_default());
    let data: Vec<Value> = page.map(write_input_file).collect();
    Ok(Json(list_object(&data, has_more)))
}

/// An input file is gone at once; batches that load its lines go on. Results are deleted by the
/// retention of the project and by nothing else, so the answer says that they are not deleted.
pub(crate) async fn delete(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, OpenAiApiError> {
    let shard = &app.shard_handle(caller.berth)?.shard;
    let deleted = match named(&id, &caller)? {
        NamedFile::Input(parcel) => {
            let file = find_input(&app, &caller, parcel).await?;
            parcel::expire_at(shard, caller.project, file.id, shard.clock.now()).await?
        }
        NamedFile::Result { batch, file } => {
            find_result(&app, &caller, batch, file).await?;
            false
        }
    };
    Ok(Json(
        json!({"id": id, "object": "file", "deleted": deleted}),
    ))
}

const NO_FILE: &str = "There is no file with this id.";

fn no_file() -> OpenAiApiError {
    OpenAiApiError::with_status(StatusCode::NOT_FOUND, Some("id"), "not_found", NO_FILE)
}

fn named(id: &str, caller: &Caller) -> Result<NamedFile, OpenAiApiError> {
    NamedFile::read(id, caller.berth).ok_or_else(no_file)
}

async fn find_input(app: &App, caller: &Caller, id: ParcelId) -> Result<ParcelRow, OpenAiApiError> {
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let found = parcel::find(shard, caller.project, Facade::OpenAi, id, now).await?;
    found.ok_or_else(no_file)
}

/// The batch of a result file that exists, and when it ended.
async fn find_result(
    app: &App,
    caller: &Caller,
    batch: GroupId,
    file: ResultFile,
) -> Result<(DropinBatch, Timestamp), OpenAiApiError> {
    let batch = find_by_group(app, caller, batch).await?;
    let found = batch.and_then(|batch| {
        let ended_at = result_file_since(&batch, file)?;
        Some((batch, ended_at))
    });
    found.ok_or_else(no_file)
}

fn result_reader(
    app: &App,
    caller: &Caller,
    batch: &DropinBatch,
    file: ResultFile,
) -> Result<ResultFileReader, OpenAiApiError> {
    let options = BatchOptions::read(batch.options.as_deref());
    let endpoint = options.and_then(|options| options.endpoint());
    Ok(ResultFileReader {
        shard: Arc::clone(&app.shard_handle(caller.berth)?.shard),
        project: caller.project,
        group: batch.group,
        endpoint: endpoint.unwrap_or(Endpoint::ChatCompletions),
        file,
        after: None,
    })
}
