//! `GET /models`: the models that the key may load.

use std::future::{Ready, ready};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use wire::model_list::{ModelBody, ModelListResponse};

use crate::auth::LimitedCaller;
use crate::state::App;

pub(crate) fn list(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
) -> Ready<Json<ModelListResponse>> {
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let models = catalogue.models();
    let allowed = models.filter(|model| caller.check_model(&model.id).is_ok());
    ready(Json(ModelListResponse {
        models: allowed.map(ModelBody::from).collect(),
    }))
}
