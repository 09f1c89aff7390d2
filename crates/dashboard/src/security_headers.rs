//! Security headers: browsers load and run only files of this server.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue};

use crate::state::DashboardState;

pub(crate) fn with_security_headers(
    routes: Router<DashboardState>,
    state: &DashboardState,
) -> Router<DashboardState> {
    let store = state.options.store_origin.as_deref().unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
         img-src 'self' data: {store}; connect-src 'self' {store}; worker-src 'self'; \
         manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    // The origin comes from a parsed URL, so it is a valid header value.
    let policy = HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    let is_secure = state.options.is_secure();
    routes.layer(middleware::from_fn_with_state(
        (policy, is_secure),
        insert_headers,
    ))
}

async fn insert_headers(
    State((policy, is_secure)): State<(HeaderValue, bool)>,
    request: Request,
    next: Next,
) -> Response {
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
    if is_secure {
        // Browsers then never connect without TLS. Other hosts of the domain are not ours to bind.
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(STRICT_TRANSPORT_SECURITY, year);
    }
    // Pages are private and not cached. Assets set their own cache header.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
