//! `GET /openai/v1/models`: the models that the key may load.

use std::future::{Ready, ready};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use serde_json::{Value, json};

use crate::api_error::OpenAiApiError;
use crate::caller::Caller;
use crate::dropin::openai::caller::OpenAiCaller;
use crate::state::App;

/// The catalogue has no dates.
const UNKNOWN_TIME: i64 = 0;

pub(crate) fn list(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
) -> Ready<Json<Value>> {
    let data = allowed_models(&app, &caller);
    ready(Json(json!({"object": "list", "data": data})))
}

pub(crate) fn retrieve(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Ready<Result<Json<Value>, OpenAiApiError>> {
    let mut models = allowed_models(&app, &caller).into_iter();
    let found = models.find(|model| model.get("id").is_some_and(|it| *it == id));
    ready(found.map(Json).ok_or_else(|| {
        let message = "There is no model with this id.";
        let (status, code) = (StatusCode::NOT_FOUND, "model_not_found");
        OpenAiApiError::with_status(status, Some("model"), code, message)
    }))
}

fn allowed_models(app: &App, caller: &Caller) -> Vec<Value> {
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let models = catalogue.models();
    let allowed = models.filter(|model| caller.check_model(&model.id).is_ok());
    let written = allowed.map(|model| {
        json!({
            "id": model.id, "object": "model", "created": UNKNOWN_TIME, "owned_by": "longshore",
        })
    });
    written.collect()
}
