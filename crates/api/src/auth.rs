//! `X-API-Key`: from the header to a caller, or to a refusal in the contract's words.

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::caller::Caller;
use crate::keys::NotAdmitted;
use crate::problem::Problem;
use crate::state::App;

const HEADER: &str = "x-api-key";

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // Extensions are set by this program alone, never by what came over the wire.
        if let Some(acting) = parts.extensions.get::<Self>() {
            return Ok(*acting);
        }
        let presented = parts
            .headers
            .get(HEADER)
            .map_or(&[][..], |value| value.as_bytes());
        Ok(app.keys.admit(presented).await?)
    }
}

/// A caller whose load would find a place in the queue and was counted against the backstop,
/// before its body is read. In an overload most loads end here, so nothing is spent before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted(pub(crate) Caller);

impl FromRequestParts<App> for Counted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        app.quay(caller.berth)?.writer.check_room(&caller)?;
        app.limiter.count(caller.project).await?;
        Ok(Self(caller))
    }
}

impl From<NotAdmitted> for Problem {
    fn from(reason: NotAdmitted) -> Self {
        match reason {
            NotAdmitted::Refused(refusal) => Self::from(refusal),
            NotAdmitted::ControlAway { retry_after } => Self::unavailable(
                "API keys cannot be checked at the moment. Please try again.",
                retry_after,
            ),
        }
    }
}
