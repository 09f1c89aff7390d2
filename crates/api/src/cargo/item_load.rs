//! Loads of the unpacker: each item of another provider's batch is admitted as a single load.

use std::sync::Arc;

use bytes::Bytes;
use domain::admission;
use domain::hold::Hold;
use domain::lane::LaneId;
use domain::model::{Catalogue, SVC_MOCK};
use domain::time::Timestamp;
use http::StatusCode;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::cargo::load_check::LoadInput;
use crate::cargo::{lane_choice, load, request_features};
use crate::group_commit::StoredLoad;
use crate::load_validation;
use crate::state::{App, ShardHandle};

/// Checks an item as a load is checked, without its files, and says what it would hold. A field
/// that a load would ignore is an error here: the caller wrote it for another service.
pub(crate) fn check_item(app: &App, caller: &Caller, body: &[u8]) -> Result<Hold, ApiError> {
    let valid = load_validation::parse_load(body, &app.rules)?;
    if let Some(warning) = valid.warnings.first() {
        let message = format!(
            "{}: this field is not supported. Leave it out.",
            warning.field
        );
        return Err(ApiError::with_text(
            StatusCode::UNPROCESSABLE_ENTITY,
            message,
        ));
    }
    request_features::check_conversation(&valid.params)?;
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let model = admission::admit(&valid.params, &catalogue)?;
    caller.check_model(&model.id)?;
    request_features::check_features(&valid.params, model, Vec::new())?;
    Ok(Hold::of(&valid.params, model, &[]))
}

/// Loads an item: all checks, limits and holds of `POST /cargo/load`.
pub(crate) async fn load_item(
    app: &App,
    caller: Caller,
    body: Bytes,
) -> Result<StoredLoad, ApiError> {
    let input = LoadInput {
        body,
        key: None,
        read_field: None,
        trace: None,
    };
    let admitted = load::admit_load(app, caller, input, None).await?;
    Ok(admitted.stored)
}

/// Takes a token of the plan for an item that is stored without a load.
pub(crate) async fn spend_token(app: &App, caller: &Caller) -> Result<(), ApiError> {
    load::take_token(app, caller).await?.spend();
    Ok(())
}

/// The model of a cargo that has no model of the catalogue.
const UNKNOWN_MODEL: &str = "unknown";

/// The model under which a cargo that is never sent is stored: one of the catalogue, or `unknown`.
/// The text of an item may be one that PostgreSQL refuses, or too long for an index.
pub(crate) fn stored_model(catalogue: &Catalogue, model: &str) -> String {
    let known = catalogue.find(model).map(|known| known.id.as_str());
    known.unwrap_or(UNKNOWN_MODEL).to_owned()
}

/// A lane for a cargo that is never in its queue: that of its model, or of the model that always
/// exists.
pub(crate) async fn find_any_lane(
    app: &App,
    handle: &ShardHandle,
    model: &str,
    now: Timestamp,
) -> Result<LaneId, ApiError> {
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let known = catalogue.find(model).or_else(|| catalogue.find(SVC_MOCK));
    let known = known.or_else(|| catalogue.models().next());
    let known = known.ok_or_else(|| ApiError::internal("the catalogue has no models"))?;
    let lane = lane_choice::choose_lane(handle, known, None, now).await?;
    Ok(lane.id)
}
