//! Passwords: argon2id, a few at a time, and as slow for whoever does not exist.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::task::spawn_blocking;

use crate::no::No;
use crate::state::Desk;

/// What somebody's password is compared with who does not exist: it is nobody's.
static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| hashed("nobody signs in with this"));

fn hashed(password: &str) -> Option<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.ok().map(|hash| hash.to_string())
}

fn failed() -> No {
    No::Invalid("The password could not be checked. Please try again.".to_owned())
}

pub(crate) async fn hash(desk: &Desk, password: String) -> Result<String, No> {
    let _turn = desk.hashing.acquire().await.map_err(|_| failed())?;
    let hash = spawn_blocking(move || hashed(&password)).await;
    hash.ok().flatten().ok_or_else(failed)
}

/// Whether the password fits; without a lock it never does, and takes as long.
pub(crate) async fn fits(desk: &Desk, password: String, lock: Option<String>) -> Result<bool, No> {
    let _turn = desk.hashing.acquire().await.map_err(|_| failed())?;
    let compared = spawn_blocking(move || {
        let is_somebody = lock.is_some();
        let against = lock.or_else(|| NOBODY.clone()).unwrap_or_default();
        let fits = Argon2::default().verify_password(password.as_bytes(), against.as_str());
        is_somebody && fits.is_ok()
    });
    compared.await.map_err(|_| failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_argon2id_with_its_own_salt() {
        let (one, other) = (
            hashed("twelve chars").unwrap(),
            hashed("twelve chars").unwrap(),
        );
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, other);
        let fits = |password: &str| {
            Argon2::default()
                .verify_password(password.as_bytes(), one.as_str())
                .is_ok()
        };
        assert!(fits("twelve chars"));
        assert!(!fits("twelve char"));
    }
}
