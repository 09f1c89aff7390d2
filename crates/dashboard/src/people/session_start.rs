//! Starts the session of a person who has proved who they are.

use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::{Berth, SessionId};
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::header::SET_COOKIE;
use store::control::audit_log::Actor;
use store::control::person::Person;
use store::control::session::{self, NewLoginSession};

use crate::access::ClientInfo;
use crate::cookie;
use crate::page_error::PageError;
use crate::state::DashboardState;

/// How and when a person proved who they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdentityProof {
    pub(crate) has_second_factor: bool,
    pub(crate) at: Timestamp,
}

/// Starts a new session for an authenticated user. Never reuses a token from the browser.
pub(crate) async fn start_session(
    state: &DashboardState,
    person: &Person,
    client: &ClientInfo,
    next: &str,
    proof: IdentityProof,
    now: Timestamp,
) -> Result<Response, PageError> {
    let token = SecretToken::from_random(rand::random());
    // Users are stored in the control database, which has no berths.
    let berth = Berth::new(0).ok_or(PageError::NotFound)?;
    let new = NewLoginSession {
        digest: token.digest(),
        id: SessionId::new(now, berth, rand::random()),
        person: person.id,
        address: &client.address,
        agent: &client.user_agent,
        lifetime: state.options.sign_in.session_lifetime,
        has_second_factor: proof.has_second_factor,
        proved_at: proof.at,
    };
    session::begin(&state.control, &new, &actor(person, client), now).await?;
    let cookie = cookie::issue_session(&token, &state.options).ok_or(PageError::NotFound)?;
    Ok((
        [(SET_COOKIE, cookie)],
        Redirect::to(safe_redirect_path(next)),
    )
        .into_response())
}

pub(crate) fn actor(person: &Person, client: &ClientInfo) -> Actor {
    client.actor(Some(person.id), &person.email)
}

/// Prevents open redirects: only dashboard paths are allowed. A control character cannot be in a
/// header.
pub(crate) fn safe_redirect_path(next: &str) -> &str {
    let is_forbidden = |character: char| character == '\\' || character.is_control();
    let is_dashboard = next.starts_with("/dashboard") && !next.contains(is_forbidden);
    if is_dashboard { next } else { "/dashboard" }
}

/// Percent-encodes a path for use in a query.
pub(crate) fn encode(next: &str) -> String {
    url::form_urlencoded::byte_serialize(next.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_redirects_are_rejected() {
        assert_eq!(
            safe_redirect_path("/dashboard/project/x?a=b"),
            "/dashboard/project/x?a=b"
        );
        for bad in [
            "",
            "https://evil.example",
            "//evil.example",
            "/dashboard\\@evil",
            "/dashboard\n",
            "/dashboard\u{1}",
            "/files",
        ] {
            assert_eq!(safe_redirect_path(bad), "/dashboard", "{bad}");
        }
    }
}
