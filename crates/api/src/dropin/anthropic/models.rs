//! `GET /anthropic/v1/models`: the models that the key may load in this format.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts as _, Request, State};
use domain::model::ModelKind;
use serde_json::{Value, json};

use super::error::AnthropicError;
use crate::auth::LimitedCaller;
use crate::state::App;

/// Our catalogue does not say when a model was created. Clients expect a time.
const UNKNOWN_CREATION: &str = "1970-01-01T00:00:00Z";

pub(super) async fn list(
    State(app): State<App>,
    request: Request,
) -> Result<Json<Value>, AnthropicError> {
    let (mut parts, _) = request.into_parts();
    let LimitedCaller(caller) = LimitedCaller::from_request_parts(&mut parts, &app).await?;
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let models = catalogue
        .models()
        .filter(|model| model.kind == ModelKind::Chat);
    let allowed = models.filter(|model| caller.check_model(&model.id).is_ok());
    let ids: Vec<&str> = allowed.map(|model| model.id.as_str()).collect();
    let data: Vec<Value> = ids
        .iter()
        .map(|id| {
            json!({
                "type": "model", "id": id, "display_name": id, "created_at": UNKNOWN_CREATION,
            })
        })
        .collect();
    Ok(Json(json!({
        "data": data, "has_more": false, "first_id": ids.first(), "last_id": ids.last(),
    })))
}
