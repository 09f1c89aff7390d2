//! The batch in the path of a request.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use domain::dropin::Facade;
use domain::id::GroupId;
use store::Shard;
use store::shard::dropin::{self, DropinBatch};

use super::error::AnthropicError;
use crate::auth::LimitedCaller;
use crate::caller::Caller;
use crate::dropin::batch_id::{MESSAGE_BATCH_PREFIX, read_id};
use crate::state::App;

#[derive(Debug)]
pub(super) struct RequestedBatch {
    pub(super) caller: Caller,
    pub(super) id: GroupId,
    /// That the request came to.
    pub(super) origin: String,
}

impl FromRequestParts<App> for RequestedBatch {
    type Rejection = AnthropicError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, AnthropicError> {
        let LimitedCaller(caller) = LimitedCaller::from_request_parts(parts, app).await?;
        let path = Path::<String>::from_request_parts(parts, app).await;
        let id = path
            .ok()
            .and_then(|Path(id)| read_id(MESSAGE_BATCH_PREFIX, &id));
        let id = id.filter(|id: &GroupId| id.berth() == caller.berth);
        let id = id.ok_or_else(AnthropicError::batch_not_found)?;
        let origin = app.dropins.options.origin.of_request(parts);
        Ok(Self { caller, id, origin })
    }
}

impl RequestedBatch {
    pub(super) async fn find_row(&self, shard: &Shard) -> Result<DropinBatch, AnthropicError> {
        let found = dropin::find(shard, self.caller.project, Facade::Anthropic, self.id).await?;
        found.ok_or_else(AnthropicError::batch_not_found)
    }
}
