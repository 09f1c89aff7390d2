//! The file in the path of a request. An id of another berth is not found without a query.

use axum::extract::{FromRequestParts, Path};
use domain::id::FileId;
use http::request::Parts;
use store::shard::file::{self, FileRow};

use crate::api_error::FileApiError;
use crate::caller::Caller;
use crate::file_access::errors;
use crate::state::{App, ShardHandle};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedFile {
    pub(crate) caller: Caller,
    pub(crate) id: FileId,
}

impl FromRequestParts<App> for RequestedFile {
    type Rejection = FileApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, FileApiError> {
        let caller = Caller::from_request_parts(parts, app).await;
        let caller = caller.map_err(FileApiError::from_key_check)?;
        let path = Path::<String>::from_request_parts(parts, app).await;
        let id = path.ok().and_then(|Path(id)| id.parse::<FileId>().ok());
        let id = id.filter(|id| id.berth() == caller.berth);
        let id = id.ok_or_else(errors::not_found)?;
        Ok(Self { caller, id })
    }
}

impl RequestedFile {
    pub(crate) fn shard_handle<'a>(&self, app: &'a App) -> Result<&'a ShardHandle, FileApiError> {
        Ok(app.shard_handle(self.caller.berth)?)
    }

    pub(crate) async fn find_row(&self, handle: &ShardHandle) -> Result<FileRow, FileApiError> {
        let found = file::find(&handle.shard, self.caller.project, self.id).await?;
        found.ok_or_else(errors::not_found)
    }
}
