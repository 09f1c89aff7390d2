//! What every answer tells the browser: ask nobody but us, run nothing but our files.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue};

use crate::state::Desk;

pub(crate) fn around(routes: Router<Desk>, desk: &Desk) -> Router<Desk> {
    let store = desk.options.store_origin.as_deref().unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
         img-src 'self' data: {store}; connect-src 'self' {store}; worker-src 'self'; \
         manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    // An origin of the settings is an address that was parsed: it has no odd characters.
    let policy = HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    routes.layer(middleware::from_fn_with_state(policy, add))
}

async fn add(State(policy): State<HeaderValue>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    let fixed: [(HeaderName, &str); 4] = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages are somebody's: nobody keeps them. Assets say otherwise themselves.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
