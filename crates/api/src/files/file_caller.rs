//! The caller of a Files route, counted against the limits of its project.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;

use crate::api_error::{ApiError, FileApiError};
use crate::caller::Caller;
use crate::files::state::FilesState;

#[derive(Debug, Clone)]
pub(crate) struct FileCaller(pub(crate) Caller);

impl<S> FromRequestParts<S> for FileCaller
where
    S: Send + Sync,
    Arc<FilesState>: FromRef<S>,
    Caller: FromRequestParts<S, Rejection = ApiError>,
{
    type Rejection = FileApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, FileApiError> {
        let caller = Caller::from_request_parts(parts, state).await;
        let caller = caller.map_err(FileApiError::from_key_check)?;
        let files = Arc::<FilesState>::from_ref(state);
        let counted = files.limiter.count_request(caller.project, &parts.method);
        counted.map_err(ApiError::from)?;
        Ok(Self(caller))
    }
}
