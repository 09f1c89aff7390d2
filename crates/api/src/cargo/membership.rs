//! The group that a load names.

use domain::callback_url::CallbackUrl;
use domain::group_digest;
use domain::id::GroupId;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::group_commit::GroupMembership;
use crate::load_validation::ValidLoad;

/// The group of a load, with the digest of what it asks for. Whether the group exists is checked
/// when the load is stored; an id that is invalid, or of another berth, names none.
pub(crate) fn resolve(
    caller: &Caller,
    load: &ValidLoad,
) -> Result<Option<GroupMembership>, ApiError> {
    let Some(requested) = &load.membership else {
        return Ok(None);
    };
    let group = requested.group_id.parse::<GroupId>().ok();
    let group = group.filter(|group| group.berth() == caller.berth);
    let params = serde_json::to_value(&load.params).map_err(ApiError::internal)?;
    let callback_url = load.callback.as_ref().map(CallbackUrl::as_str);
    let metadata = load.metadata.as_deref().map(metadata_value);
    Ok(Some(GroupMembership {
        group: group.ok_or_else(ApiError::group_not_found)?,
        custom_id: requested.custom_id.clone(),
        position: requested.position,
        load_digest: group_digest::load_digest(params, callback_url, metadata),
    }))
}

/// Metadata that cannot be read as a value, such as 1e999, counts as its text.
fn metadata_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
