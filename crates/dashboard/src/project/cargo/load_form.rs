//! Loads a cargo from a form, through the API with all its checks, limits and holds.

use askama::Template;
use axum::Form;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::model::{Model, ModelKind, SVC_MOCK};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::control::audit_log::{self, AuditEvent};
use store::shard::tracking;
use store::view::cargo_detail;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page_with_status};
use crate::page_error::PageError;
use crate::project::cargo::downloads::parse_cargo_id;
use crate::project::cargo::load_response::{self, LoadResult, RejectedLoad};
use crate::project::cargo::pretty_json::format_json;
use crate::read_audit::record_operator_read;
use crate::state::DashboardState;
use crate::text;

/// The longest request that the form is prefilled with.
const MAX_COPY_BYTES: usize = 1 << 20;
/// Large enough for the JSON of a cargo.
pub(crate) const MAX_FORM_BYTES: usize = 12 << 20;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LoadForm {
    model: String,
    max_tokens: String,
    system: String,
    message: String,
    callback_url: String,
    /// The whole request body as JSON, instead of the other fields.
    raw: String,
    /// The idempotency key, so that a form that is sent twice loads once.
    once: String,
}

#[derive(Template)]
#[template(path = "cargo_new.html")]
struct LoadPage {
    page: PageLayout,
    form: LoadForm,
    models: Vec<Model>,
    rejection: Option<RejectedLoad>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LoadQuery {
    /// A cargo to copy.
    #[serde(default)]
    like: String,
    /// The preselected model.
    #[serde(default)]
    model: String,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Query(LoadQuery { like, model }): Query<LoadQuery>,
) -> Result<Response, PageError> {
    let known = state.catalogue.borrow().find(&model).is_some();
    let mut wish = LoadForm {
        model: if known { model } else { SVC_MOCK.to_owned() },
        max_tokens: "256".to_owned(),
        ..LoadForm::default()
    };
    if !like.is_empty() {
        wish.raw = copy_request(&within, &like).await?;
        record_operator_read(&state, &within, "cargo.read", like).await?;
    }
    Ok(render_form(&state, &within, &client, wish, None))
}

fn render_form(
    state: &DashboardState,
    within: &ProjectAccess,
    client: &ClientInfo,
    mut wish: LoadForm,
    refused: Option<RejectedLoad>,
) -> Response {
    let status = if refused.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    wish.once = format!("{:032x}", rand::random::<u128>());
    let new = LoadPage {
        page: PageLayout::for_project("Load cargo", NavItem::Cargo, within, client),
        form: wish,
        models: state.catalogue.borrow().models().cloned().collect(),
        rejection: refused,
    };
    render_page_with_status(status, &new)
}

/// The request of a cargo, as it was loaded.
async fn copy_request(within: &ProjectAccess, like: &str) -> Result<String, PageError> {
    let cargo = parse_cargo_id(within, like)?;
    let (shard, project) = (within.shard(), within.id());
    let details = cargo_detail::find_detail(shard, project, cargo).await?;
    let tracked = tracking::find(shard, project, cargo).await?;
    let found = details.zip(tracked);
    let found = found.filter(|(_, tracked)| tracked.erased_at.is_none());
    let (details, tracked) = found.ok_or(PageError::NotFound)?;
    let mut parts = vec![("params", details.input)];
    if let Some(callback) = tracked.callback {
        let url = Value::from(callback.url).to_string();
        parts.push(("callback_url", url.into_bytes()));
    }
    parts.extend(tracked.metadata.map(|metadata| ("metadata", metadata)));
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, json)| format!("\"{name}\":{}", String::from_utf8_lossy(json)))
        .collect();
    match format_json(&format!("{{{}}}", parts.join(",")), MAX_COPY_BYTES) {
        (text, true) => Ok(text),
        (_, false) => Err(PageError::Invalid(
            "This request is too long for the form. Download its input and load it with the API."
                .to_owned(),
        )),
    }
}

pub(crate) async fn load(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Form(wish): Form<LoadForm>,
) -> Result<Response, PageError> {
    if !within.project.is_active {
        return Err(PageError::Forbidden(
            "This project is deactivated and accepts no cargo. An owner can activate it in its \
             settings.",
        ));
    }
    let body = request_body(&state, &wish);
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action: "cargo.loaded",
        subject: audit_subject(&state, &wish).to_owned(),
        detail: "from the dashboard".to_owned(),
    };
    audit_log::record(&state.control, &within.actor(), act, state.clock.now()).await?;
    let request = Request::post("/cargo/load")
        .header(CONTENT_TYPE, "application/json")
        .header("idempotency-key", &wish.once)
        .body(Body::from(body))
        .map_err(|_| PageError::CsrfMismatch)?;
    match load_response::read_response(state.api.call(within.caller_identity(), request).await)
        .await
    {
        LoadResult::Loaded(cargo) => {
            let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
            Ok(Redirect::to(&to).into_response())
        }
        LoadResult::Rejected(refused) => {
            Ok(render_form(&state, &within, &client, wish, Some(refused)))
        }
    }
}

/// The model, but no other text of the form: it may be a part of a prompt.
fn audit_subject<'a>(state: &DashboardState, wish: &'a LoadForm) -> &'a str {
    if !wish.raw.trim().is_empty() {
        return "JSON request";
    }
    let is_known = state.catalogue.borrow().find(&wish.model).is_some();
    if is_known {
        &wish.model
    } else {
        "unknown model"
    }
}

/// The request body. The API validates it, so invalid numbers are passed on as text.
fn request_body(state: &DashboardState, wish: &LoadForm) -> String {
    if !wish.raw.trim().is_empty() {
        return wish.raw.clone();
    }
    let catalogue = state.catalogue.borrow();
    let kind = catalogue.find(&wish.model).map(|model| model.kind);
    let mut params = Map::new();
    params.insert("model".to_owned(), wish.model.as_str().into());
    if kind == Some(ModelKind::Embedding) {
        params.insert("input_text".to_owned(), wish.message.as_str().into());
    } else {
        let max_tokens = wish.max_tokens.trim().parse::<u64>();
        let max_tokens =
            max_tokens.map_or_else(|_| Value::from(wish.max_tokens.as_str()), Value::from);
        params.insert("max_tokens".to_owned(), max_tokens);
        if !wish.system.is_empty() {
            params.insert("system".to_owned(), wish.system.as_str().into());
        }
        let messages = json!([{ "role": "user", "content": wish.message }]);
        params.insert("messages".to_owned(), messages);
    }
    let callback = Some(wish.callback_url.trim()).filter(|url| !url.is_empty());
    let request = match callback {
        Some(url) => json!({ "params": params, "callback_url": url }),
        None => json!({ "params": params }),
    };
    request.to_string()
}
