//! A route of the dashboard, and what it requires.

use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};
use http::Method;

use crate::gate::RequiredAccess;
use crate::state::DashboardState;

#[derive(Debug)]
pub(crate) struct PageRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) required_access: RequiredAccess,
    /// The person must have entered a password or a code in the last ten minutes.
    pub(crate) needs_recent_proof: bool,
    pub(crate) handler: MethodRouter<DashboardState>,
}

impl PageRoute {
    /// For changes that a stolen session must not make: keys, members, resends.
    pub(crate) fn with_recent_proof(self) -> Self {
        Self {
            needs_recent_proof: true,
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
    PageRoute {
        method: Method::GET,
        path,
        required_access: needs,
        needs_recent_proof: false,
        handler: get(handler),
    }
}

/// A form or script request that changes data.
pub(crate) fn post_route<H: Handler<T, DashboardState>, T: 'static>(
    path: &'static str,
    needs: RequiredAccess,
    handler: H,
) -> PageRoute {
    PageRoute {
        method: Method::POST,
        path,
        required_access: needs,
        needs_recent_proof: false,
        handler: post(handler),
    }
}
