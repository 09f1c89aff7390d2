//! The file in the path of a request. An id of another berth is not found without a query.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, Path};
use domain::id::FileId;
use http::request::Parts;
use store::Shard;
use store::shard::file::{self, FileRow};

use crate::api_error::{ApiError, FileApiError};
use crate::caller::Caller;
use crate::files::errors;
use crate::files::file_caller::FileCaller;
use crate::files::state::FilesState;

#[derive(Debug, Clone)]
pub(crate) struct RequestedFile {
    pub(crate) caller: Caller,
    pub(crate) id: FileId,
}

impl<S> FromRequestParts<S> for RequestedFile
where
    S: Send + Sync,
    Arc<FilesState>: FromRef<S>,
    Caller: FromRequestParts<S, Rejection = ApiError>,
{
    type Rejection = FileApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, FileApiError> {
        let FileCaller(caller) = FileCaller::from_request_parts(parts, state).await?;
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|Path(id)| id.parse::<FileId>().ok());
        let id = id.filter(|id| id.berth() == caller.berth);
        let id = id.ok_or_else(errors::not_found)?;
        Ok(Self { caller, id })
    }
}

impl RequestedFile {
    pub(super) fn shard<'a>(&self, files: &'a FilesState) -> Result<&'a Arc<Shard>, FileApiError> {
        Ok(files.shard(self.caller.berth)?)
    }

    pub(super) async fn find_row(&self, shard: &Shard) -> Result<FileRow, FileApiError> {
        let found = file::find(shard, self.caller.project, self.id).await?;
        found.ok_or_else(errors::not_found)
    }
}
