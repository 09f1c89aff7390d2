//! Sign-in with `OpenID` Connect (OIDC): one login attempt, and the identity that it proves.

use crate::time::Timestamp;

/// One login attempt, from the redirect to the callback. `nonce` ties the ID token to this attempt.
/// Only the identity provider learns the `code_verifier`.
#[derive(Debug, Clone)]
pub struct LoginAttempt {
    /// Where the identity provider sends the browser back to.
    pub redirect_uri: String,
    pub state: String,
    pub nonce: String,
    pub code_verifier: String,
    /// The person must enter their credentials after this time, even if they are signed in at the
    /// identity provider.
    pub fresh_since: Option<Timestamp>,
}

/// The user whom an identity provider has authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
    /// Only an address that the identity provider has verified.
    pub email: Option<String>,
    /// When the person last entered their credentials, if the identity provider says so.
    pub authenticated_at: Option<Timestamp>,
}
