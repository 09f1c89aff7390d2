//! Another house that knows people, and what passes between it and us.

/// One visit there, from leaving to coming back. `nonce` and `verifier` are shown to nobody else.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Where the house sends the browser back to.
    pub back: String,
    pub state: String,
    pub nonce: String,
    pub verifier: String,
}

/// Whom a house vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
    /// Only one of which the house says that it is theirs.
    pub email: Option<String>,
}
