//! Names of a project's API keys, for pages that show cargo by key.

use std::collections::HashMap;

use domain::id::ApiKeyId;
use store::control::api_key;

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::state::DashboardState;

/// Further keys are shown by id.
const MAX_KEYS: u32 = 500;

/// Includes the dashboard itself, which loads cargo under the project's id.
pub(crate) async fn read_key_names(
    state: &DashboardState,
    within: &ProjectAccess,
) -> Result<HashMap<ApiKeyId, String>, PageError> {
    let keys = api_key::list(&state.control, within.id(), None, MAX_KEYS).await?;
    let mut names: HashMap<_, _> = keys.into_iter().map(|key| (key.id, key.name)).collect();
    names.insert(within.caller_identity().key, "the dashboard".to_owned());
    Ok(names)
}
