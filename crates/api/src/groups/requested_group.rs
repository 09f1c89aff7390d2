//! The group in the path of a request. An id of another berth is not found without a query.

use axum::extract::{FromRequestParts, Path};
use domain::id::GroupId;
use http::request::Parts;
use store::Shard;
use store::shard::group::{self, GroupRow};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::caller::Caller;
use crate::state::App;

#[derive(Debug, Clone)]
pub(crate) struct RequestedGroup {
    pub(crate) caller: Caller,
    pub(crate) id: GroupId,
}

impl FromRequestParts<App> for RequestedGroup {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let LimitedCaller(caller) = LimitedCaller::from_request_parts(parts, app).await?;
        let path = Path::<String>::from_request_parts(parts, app).await;
        let id = path.ok().and_then(|Path(id)| id.parse::<GroupId>().ok());
        let id = id.filter(|id| id.berth() == caller.berth);
        let id = id.ok_or_else(ApiError::group_not_found)?;
        Ok(Self { caller, id })
    }
}

impl RequestedGroup {
    pub(super) async fn find_row(&self, shard: &Shard) -> Result<GroupRow, ApiError> {
        let found = group::find(shard, self.caller.project, self.id).await?;
        found.ok_or_else(ApiError::group_not_found)
    }
}
