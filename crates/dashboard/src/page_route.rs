//! A route of the dashboard, and what it requires.

use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};
use http::Method;

use crate::gate::RequiredAccess;
use crate::state::DashboardState;

/// The listener does not count the first 16 KiB of a body, so clients without a session cannot use
/// up the byte budget for bodies, which callers need.
const MAX_PUBLIC_FORM_BYTES: usize = 16 << 10;
/// Large enough for a new key with 100 models and 100 address ranges.
const MAX_FORM_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct PageRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) required_access: RequiredAccess,
    /// The person must have entered a password or a code in the last ten minutes.
    pub(crate) needs_recent_proof: bool,
    pub(crate) max_form_bytes: usize,
    pub(crate) handler: MethodRouter<DashboardState>,
}

impl PageRoute {
    /// For changes that a stolen session must not make: keys, members, projects, resends.
    pub(crate) fn with_recent_proof(self) -> Self {
        Self {
            needs_recent_proof: true,
            ..self
        }
    }

    pub(crate) fn with_max_form_bytes(self, max_form_bytes: usize) -> Self {
        Self {
            max_form_bytes,
            ..self
        }
    }
}

/// A page or a download.
pub(crate) fn get_route<H: Handler<T, DashboardState>, T: 'static>(
    path: &'static str,
    needs: RequiredAccess,
    handler: H,
) -> PageRoute {
    new_route(Method::GET, path, needs, get(handler))
}

/// A form or script request that changes data.
pub(crate) fn post_route<H: Handler<T, DashboardState>, T: 'static>(
    path: &'static str,
    needs: RequiredAccess,
    handler: H,
) -> PageRoute {
    new_route(Method::POST, path, needs, post(handler))
}

fn new_route(
    method: Method,
    path: &'static str,
    needs: RequiredAccess,
    handler: MethodRouter<DashboardState>,
) -> PageRoute {
    PageRoute {
        method,
        path,
        required_access: needs,
        needs_recent_proof: false,
        max_form_bytes: if needs == RequiredAccess::Public {
            MAX_PUBLIC_FORM_BYTES
        } else {
            MAX_FORM_BYTES
        },
        handler,
    }
}
