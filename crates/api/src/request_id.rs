//! The id of a request, if its route has chosen one: some formats have it in their error bodies.

/// In the extensions of a response. The log and `X-Request-Id` have the same id.
#[derive(Debug, Clone)]
pub(crate) struct ChosenRequestId(pub(crate) String);
