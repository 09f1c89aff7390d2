//! Loading a cargo from a page, through the API itself: every check, limit and hold is the same.

use askama::Template;
use axum::Form;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::model::{Kind, Model, SVC_MOCK};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::control::audit::{self, Act};
use store::shard::tracking;
use store::view::one_cargo;

use crate::no::No;
use crate::page::{Here, Page, show_with};
use crate::project::cargo::pretty::pretty;
use crate::project::cargo::raw::id;
use crate::project::cargo::refusal::{self, Answer, Refused};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text;

/// What is longer is not written into a form.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wish {
    model: String,
    max_tokens: String,
    system: String,
    message: String,
    callback_url: String,
    /// The whole body, instead of all of these.
    raw: String,
    /// Sent twice, a form loads once.
    once: String,
}

#[derive(Template)]
#[template(path = "cargo_new.html")]
struct New {
    page: Page,
    wish: Wish,
    models: Vec<Model>,
    refused: Option<Refused>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Like {
    /// Another cargo, to begin with.
    #[serde(default)]
    like: String,
    /// Or a model, if there is such a one.
    #[serde(default)]
    model: String,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Query(Like { like, model }): Query<Like>,
) -> Result<Response, No> {
    let known = desk.catalogue.borrow().find(&model).is_some();
    let mut wish = Wish {
        model: if known { model } else { SVC_MOCK.to_owned() },
        max_tokens: "256".to_owned(),
        ..Wish::default()
    };
    if !like.is_empty() {
        wish.raw = copy(&within, &like).await?;
    }
    Ok(form(&desk, &within, &visitor, wish, None))
}

fn form(
    desk: &Desk,
    within: &InProject,
    visitor: &Visitor,
    mut wish: Wish,
    refused: Option<Refused>,
) -> Response {
    let status = if refused.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    wish.once = format!("{:032x}", rand::random::<u128>());
    let new = New {
        page: Page::of_project("Load a cargo", Here::Cargo, within, visitor),
        wish,
        models: desk.catalogue.borrow().models().cloned().collect(),
        refused,
    };
    show_with(status, &new)
}

/// The request of another cargo, as it was loaded.
async fn copy(within: &InProject, like: &str) -> Result<String, No> {
    let cargo = id(within, like)?;
    let (shard, project) = (within.shard(), within.id());
    let beside = one_cargo::beside(shard, project, cargo).await?;
    let tracked = tracking::find(shard, project, cargo).await?;
    let (beside, tracked) = beside.zip(tracked).ok_or(No::NotFound)?;
    let mut parts = vec![("params", beside.input)];
    if let Some(callback) = tracked.callback {
        let url = Value::from(callback.url).to_string();
        parts.push(("callback_url", url.into_bytes()));
    }
    parts.extend(tracked.metadata.map(|metadata| ("metadata", metadata)));
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, json)| format!("\"{name}\":{}", String::from_utf8_lossy(json)))
        .collect();
    match pretty(&format!("{{{}}}", parts.join(",")), LONGEST) {
        (text, true) => Ok(text),
        (_, false) => Err(No::Invalid(
            "This one is too long for a form. Download its input and load it with a key."
                .to_owned(),
        )),
    }
}

pub(crate) async fn load(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Form(wish): Form<Wish>,
) -> Result<Response, No> {
    if !within.project.is_active {
        return Err(No::Forbidden(
            "This project is deactivated: nothing is loaded into it. An owner can activate it in \
             its settings.",
        ));
    }
    let body = body(&desk, &wish);
    let act = Act {
        organization: Some(within.place.organization),
        project: Some(within.id()),
        action: "cargo.loaded",
        subject: named(&wish).to_owned(),
        detail: "from the dashboard".to_owned(),
    };
    audit::announce(&desk.control, &within.author(), act, desk.clock.now()).await?;
    let request = Request::post("/cargo/load")
        .header(CONTENT_TYPE, "application/json")
        .header("idempotency-key", &wish.once)
        .body(Body::from(body))
        .map_err(|_| No::Forged)?;
    match refusal::read(desk.api.ask(within.acting(), request).await).await {
        Answer::Loaded(cargo) => {
            let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
            Ok(Redirect::to(&to).into_response())
        }
        Answer::Refused(refused) => Ok(form(&desk, &within, &visitor, wish, Some(refused))),
    }
}

fn named(wish: &Wish) -> &str {
    if wish.raw.trim().is_empty() {
        &wish.model
    } else {
        "a request in JSON"
    }
}

/// What the API is asked. It judges; what is no number goes as it was written.
fn body(desk: &Desk, wish: &Wish) -> String {
    if !wish.raw.trim().is_empty() {
        return wish.raw.clone();
    }
    let catalogue = desk.catalogue.borrow();
    let kind = catalogue.find(&wish.model).map(|model| model.kind);
    let mut params = Map::new();
    params.insert("model".to_owned(), wish.model.as_str().into());
    if kind == Some(Kind::Embedding) {
        params.insert("input_text".to_owned(), wish.message.as_str().into());
    } else {
        let most = wish.max_tokens.trim().parse::<u64>();
        let most = most.map_or_else(|_| Value::from(wish.max_tokens.as_str()), Value::from);
        params.insert("max_tokens".to_owned(), most);
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
