//! `/docs` and `/openapi.json`: the contract as this very program keeps it.
//!
//! Schemas are those of `wire`; examples of refusals are made by the code that
//! refuses. Nothing on these pages is fetched from anywhere else.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, Server};

use crate::trace::API_VERSION;

mod answer;
mod examples;
mod files;
mod health;
mod limit;
mod load;
mod page;
mod tracking;

/// What every request carries, but for `/health` and `/ready`.
const KEY: &str = "X-API-Key";

#[derive(utoipa::OpenApi)]
#[openapi(
    components(schemas(
        wire::load::LoadRequest,
        wire::load::Loaded,
        wire::tracking::Tracking,
        wire::callback::Payload,
        wire::file::Session,
        wire::file::Refreshed,
        wire::file::FileRecord,
        wire::file::FileList,
        wire::file::Content,
        wire::file::FileRefusal,
        wire::file::request::CreateFile,
        wire::file::request::CompleteFile,
        wire::file::request::RefreshParts,
        wire::file::request::ChangeFile,
        wire::detail::Refusal,
        wire::health::Health,
        wire::health::Ready,
    )),
    tags(
        (name = "Cargo", description = "Load requests and follow them."),
        (name = "Files", description = "Store images, documents and videos, and name them in a load."),
        (name = "Health", description = "For probes and balancers. No key."),
    )
)]
struct Schemas;

/// The description of the whole API, OpenAPI 3.1.
pub fn openapi() -> OpenApi {
    let mut openapi = Schemas::openapi();
    openapi.info = InfoBuilder::new()
        .title("Longshore")
        .version(API_VERSION)
        .description(Some(include_str!("docs/guide.md")))
        .build();
    openapi.servers = Some(vec![Server::new("/")]);
    let paths = PathsBuilder::new()
        .path(
            "/cargo/load",
            PathItem::new(HttpMethod::Post, load::operation()),
        )
        .path(
            "/cargo/{cargo_id}/tracking",
            PathItem::new(HttpMethod::Get, tracking::operation()),
        );
    let paths = files::paths()
        .into_iter()
        .fold(paths, |paths, (path, item)| paths.path(path, item));
    openapi.paths = paths
        .path("/health", PathItem::new(HttpMethod::Get, health::health()))
        .path("/ready", PathItem::new(HttpMethod::Get, health::ready()))
        .build();
    let key = ApiKeyValue::with_description(KEY, "A key of your project: `svc_sk_…`");
    if let Some(components) = &mut openapi.components {
        components.add_security_scheme(KEY, SecurityScheme::ApiKey(ApiKey::Header(key)));
    }
    openapi.security = Some(vec![SecurityRequirement::new(KEY, Vec::<String>::new())]);
    openapi
}

/// The routes, which need neither key nor state.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    // Written once: it cannot change while we run.
    let json = serde_json::to_vec(&openapi()).map_or_else(|_| Bytes::new(), Bytes::from);
    let described = move || {
        let answer = ([(CONTENT_TYPE, "application/json")], json.clone());
        std::future::ready(answer)
    };
    page::router().route("/openapi.json", get(described))
}

#[cfg(test)]
mod tests;
