//! What the keys of a project are called, wherever cargo are told apart by them.

use std::collections::HashMap;

use domain::id::KeyId;
use store::control::api_key;

use crate::no::No;
use crate::seat::InProject;
use crate::state::Desk;

/// Of more than these, ids are shown.
const MOST: u32 = 500;

/// The pages themselves load under the project's own id.
pub(crate) async fn of(desk: &Desk, within: &InProject) -> Result<HashMap<KeyId, String>, No> {
    let keys = api_key::page(&desk.control, within.id(), None, MOST).await?;
    let mut names: HashMap<_, _> = keys.into_iter().map(|key| (key.id, key.name)).collect();
    names.insert(within.acting().key, "the dashboard".to_owned());
    Ok(names)
}
