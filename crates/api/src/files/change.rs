//! `PATCH /files/{file_id}`: changes the time to live, the metadata, or the pin.

use axum::Json;
use axum::extract::State;
use store::shard::file::{self, FileChangeResult};
use wire::file::FileRecord;

use crate::api_error::{ApiError, FileApiError};
use crate::file_access::errors;
use crate::files::record::file_record;
use crate::files::requested_file::RequestedFile;
use crate::files::validation;
use crate::request_body::BufferedBody;
use crate::state::App;

pub(crate) async fn change(
    requested: RequestedFile,
    State(app): State<App>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Json<FileRecord>, FileApiError> {
    let change = validation::parse_change(&body?.0)?;
    let handle = requested.shard_handle(&app)?;
    let (project, now) = (requested.caller.project, handle.shard.clock.now());
    match file::update(&handle.shard, project, requested.id, &change, now).await? {
        FileChangeResult::Done(file) => Ok(Json(file_record(file))),
        FileChangeResult::WrongState => {
            let status = requested.find_row(handle).await?.status;
            Err(errors::invalid_state(
                status,
                "A failed or expired file cannot be changed.",
            ))
        }
        FileChangeResult::NotFound => Err(errors::not_found()),
    }
}
