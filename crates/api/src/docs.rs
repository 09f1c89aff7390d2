//! `/docs` and `/openapi.json`: the OpenAPI document of this version, and its page.
//!
//! The schemas are those of `wire`. The code that returns the errors also makes their
//! examples. The page loads nothing from other servers.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, Server};

use crate::trace::API_VERSION;

mod account;
mod audit;
mod bulk;
mod cancel;
mod estimate;
mod examples;
mod files;
mod groups;
mod health;
mod listen;
mod load;
mod load_bodies;
mod load_example;
mod page;
mod rate_limit;
mod reading;
mod reading_examples;
mod reason_codes;
mod responses;
mod tracking;
mod wait;

pub use load_example::check_load_example;

/// Required on every route except `/health` and `/ready`.
const API_KEY_HEADER: &str = "X-API-Key";

#[derive(utoipa::OpenApi)]
#[openapi(
    components(schemas(
        wire::load::LoadRequest,
        wire::load::LoadResponse,
        wire::bulk::BulkLoadRequest,
        wire::bulk::BulkLoadResponse,
        wire::estimate::EstimateRequest,
        wire::estimate::EstimateResponse,
        wire::tracking::TrackingResponse,
        wire::cargo_list::CargoListResponse,
        wire::cargo_list::CallbackAttemptsResponse,
        wire::cargo_list::ResendResponse,
        wire::model_list::ModelListResponse,
        wire::whoami::WhoAmIResponse,
        wire::wait::CargoWaitRequest,
        wire::wait::CargoWaitResponse,
        wire::cancel::CancelResponse,
        wire::callback::CallbackBody,
        wire::listen::ListenerReadyEvent,
        wire::listen::ListenerCallbackEvent,
        wire::listen::ListenerAnswerRequest,
        wire::group::CreateGroupRequest,
        wire::group::SealGroupRequest,
        wire::group::GroupResponse,
        wire::group::GroupListResponse,
        wire::group::GroupResultLine,
        wire::group::GroupCallbackBody,
        wire::file::UploadSessionResponse,
        wire::file::RefreshedUploadResponse,
        wire::file::FileRecord,
        wire::file::FileListResponse,
        wire::file::FileContentResponse,
        wire::file::FileErrorBody,
        wire::file::request::CreateFileRequest,
        wire::file::request::CompleteFileRequest,
        wire::file::request::RefreshPartsRequest,
        wire::file::request::ChangeFileRequest,
        wire::audit::AuditRecord,
        wire::error_body::ErrorBody,
        wire::health::HealthResponse,
        wire::health::ReadyResponse,
    )),
    tags(
        (name = "Cargo", description = "Load requests, track and list them, and resend their callbacks."),
        (name = "Account", description = "Your key and what it may use."),
        (name = "Groups", description = "Load cargo together, follow it and read all its results."),
        (name = "Files", description = "Store images, documents and videos, and reference them in a load."),
        (name = "Audit", description = "Read the audit log, with an audit token instead of an API key."),
        (name = "Health", description = "For probes and load balancers. No API key is needed."),
    )
)]
struct OpenApiSchemas;

/// The OpenAPI 3.1 document of the whole API.
pub fn openapi_document() -> OpenApi {
    let mut openapi = OpenApiSchemas::openapi();
    let guide = include_str!("docs/guide.md");
    let codes = reason_codes::reason_code_list();
    openapi.info = InfoBuilder::new()
        .title("Longshore")
        .version(API_VERSION)
        .description(Some(format!("{guide}{codes}")))
        .build();
    openapi.servers = Some(vec![Server::new("/")]);
    let paths = PathsBuilder::new()
        .path(
            "/cargo/load",
            PathItem::new(HttpMethod::Post, load::operation()),
        )
        .path(
            "/cargo/bulk",
            PathItem::new(HttpMethod::Post, bulk::operation()),
        )
        .path(
            "/cargo/estimate",
            PathItem::new(HttpMethod::Post, estimate::operation()),
        )
        .path(
            "/cargo/{cargo_id}/tracking",
            PathItem::new(HttpMethod::Get, tracking::operation()),
        )
        .path("/cargo", PathItem::new(HttpMethod::Get, reading::list()))
        .path(
            "/cargo/{cargo_id}/attempts",
            PathItem::new(HttpMethod::Get, reading::attempts()),
        )
        .path(
            "/cargo/{cargo_id}/resend",
            PathItem::new(HttpMethod::Post, reading::resend()),
        )
        .path("/models", PathItem::new(HttpMethod::Get, account::models()))
        .path("/whoami", PathItem::new(HttpMethod::Get, account::whoami()))
        .path(
            "/cargo/wait",
            PathItem::new(HttpMethod::Post, wait::operation()),
        )
        .path(
            "/cargo/{cargo_id}/cancel",
            PathItem::new(HttpMethod::Post, cancel::operation()),
        );
    let paths = groups::paths()
        .into_iter()
        .chain(listen::paths())
        .chain(files::paths())
        .fold(paths, |paths, (path, item)| paths.path(path, item));
    openapi.paths = paths
        .path("/audit", PathItem::new(HttpMethod::Get, audit::operation()))
        .path("/health", PathItem::new(HttpMethod::Get, health::health()))
        .path("/ready", PathItem::new(HttpMethod::Get, health::ready()))
        .build();
    let key = ApiKeyValue::with_description(
        API_KEY_HEADER,
        "An API key of your project: `svc_sk_…`. On /audit an audit token.",
    );
    if let Some(components) = &mut openapi.components {
        components.add_security_scheme(API_KEY_HEADER, SecurityScheme::ApiKey(ApiKey::Header(key)));
    }
    openapi.security = Some(vec![SecurityRequirement::new(
        API_KEY_HEADER,
        Vec::<String>::new(),
    )]);
    openapi
}

/// The routes. They need neither an API key nor state.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    // Serialized once, because it cannot change while the process runs.
    let json = serde_json::to_vec(&openapi_document()).map_or_else(|_| Bytes::new(), Bytes::from);
    let described = move || {
        let answer = ([(CONTENT_TYPE, "application/json")], json.clone());
        std::future::ready(answer)
    };
    page::router().route("/openapi.json", get(described))
}

#[cfg(test)]
mod tests;
