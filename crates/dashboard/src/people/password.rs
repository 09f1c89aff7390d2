//! Passwords: whether they are accepted, and hashing with argon2id. Unknown users take as long as
//! known ones.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::task::spawn_blocking;

use crate::page_error::PageError;
use crate::state::DashboardState;

/// Compared with when the user does not exist, so that timing does not reveal it.
static DUMMY_HASH: LazyLock<Option<String>> =
    LazyLock::new(|| argon2_hash("no user has this password"));

fn argon2_hash(password: &str) -> Option<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.ok().map(|hash| hash.to_string())
}

fn hashing_failed() -> PageError {
    PageError::Invalid("The password could not be processed. Try again.".to_owned())
}

/// Refuses passwords where people sign in with single sign-on only.
pub(crate) fn require_enabled(state: &DashboardState) -> Result<(), PageError> {
    if state.options.sign_in.is_sso_only {
        return Err(PageError::Forbidden(
            "Passwords are disabled here. Sign in with single sign-on.",
        ));
    }
    Ok(())
}

pub(crate) async fn hash(state: &DashboardState, password: String) -> Result<String, PageError> {
    let _permit = state
        .password_hash_permits
        .acquire()
        .await
        .map_err(|_| hashing_failed())?;
    let hash = spawn_blocking(move || argon2_hash(&password)).await;
    hash.ok().flatten().ok_or_else(hashing_failed)
}

/// Whether the password matches. Without a stored hash it never does, and takes as long.
pub(crate) async fn verify(
    state: &DashboardState,
    password: String,
    hash: Option<String>,
) -> Result<bool, PageError> {
    let _permit = state
        .password_hash_permits
        .acquire()
        .await
        .map_err(|_| hashing_failed())?;
    let compared = spawn_blocking(move || {
        let is_known = hash.is_some();
        let hash = hash.or_else(|| DUMMY_HASH.clone()).unwrap_or_default();
        let verified = Argon2::default().verify_password(password.as_bytes(), hash.as_str());
        is_known && verified.is_ok()
    });
    compared.await.map_err(|_| hashing_failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_argon2id_with_its_own_salt() {
        let (one, other) = (
            argon2_hash("twelve chars").unwrap(),
            argon2_hash("twelve chars").unwrap(),
        );
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, other);
        let verifies = |password: &str| {
            Argon2::default()
                .verify_password(password.as_bytes(), one.as_str())
                .is_ok()
        };
        assert!(verifies("twelve chars"));
        assert!(!verifies("twelve char"));
    }
}
