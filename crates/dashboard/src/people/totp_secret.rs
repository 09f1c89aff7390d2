//! TOTP secrets at rest: encrypted with a key that is derived from the signing root.
//!
//! An installation without a signing root stores the secret itself. When a server starts, it
//! encrypts the secrets that are stored plain or under the previous root with the current one.

use domain::callback_signature::{SigningRoot, SigningRoots};
use domain::id::PersonId;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use store::Control;
use store::control::second_factor::{self, TotpEnrolment};

use crate::people::totp::SECRET_BYTES;
use crate::state::DashboardState;

/// The secret of an enrolment. None if no signing root of this server decrypts it.
pub(crate) fn read(
    state: &DashboardState,
    person: PersonId,
    enrolment: &TotpEnrolment,
) -> Option<Vec<u8>> {
    let roots = state.options.signing_roots.as_ref();
    let secret = decrypt(roots, person, &enrolment.secret);
    if secret.is_none() {
        tracing::error!(
            %person,
            "a TOTP secret cannot be decrypted: set SVC_SIGNING_ROOT_PREVIOUS to the root that encrypted it"
        );
    }
    secret
}

/// The bytes to store for a secret.
pub(crate) fn encrypt(state: &DashboardState, person: PersonId, secret: &[u8]) -> Option<Vec<u8>> {
    match &state.options.signing_roots {
        Some(roots) => encrypt_with(&roots.current, person, secret),
        None => Some(secret.to_vec()),
    }
}

/// Encrypts every secret with the current root. Returns how many were not.
pub async fn renew_totp_secrets(
    control: &Control,
    roots: &SigningRoots,
) -> Result<usize, store::Error> {
    let mut renewed = 0;
    for (person, stored) in second_factor::list_secrets(control).await? {
        if let Some(secret) = renew(roots, person, &stored) {
            second_factor::replace_secret(control, person, &stored, &secret).await?;
            renewed += 1;
        }
    }
    Ok(renewed)
}

/// None if the current root encrypts the secret, or if it cannot be read.
fn renew(roots: &SigningRoots, person: PersonId, stored: &[u8]) -> Option<Vec<u8>> {
    if decrypt_with(&roots.current, person, stored).is_some() {
        return None;
    }
    let secret = decrypt(Some(roots), person, stored)?;
    encrypt_with(&roots.current, person, &secret)
}

/// A nonce, the encrypted secret and its tag. They are bound to the person, so that the row of
/// another person does not help.
fn encrypt_with(root: &SigningRoot, person: PersonId, secret: &[u8]) -> Option<Vec<u8>> {
    let nonce: [u8; NONCE_LEN] = rand::random();
    let mut bytes = secret.to_vec();
    let unique = Nonce::assume_unique_for_key(nonce);
    let encrypted = key(root)?.seal_in_place_append_tag(unique, owner(person), &mut bytes);
    encrypted.ok()?;
    Some([nonce.as_slice(), bytes.as_slice()].concat())
}

fn decrypt(roots: Option<&SigningRoots>, person: PersonId, stored: &[u8]) -> Option<Vec<u8>> {
    if stored.len() == SECRET_BYTES {
        return Some(stored.to_vec());
    }
    let roots = roots?;
    decrypt_with(&roots.current, person, stored)
        .or_else(|| decrypt_with(roots.previous.as_ref()?, person, stored))
}

fn decrypt_with(root: &SigningRoot, person: PersonId, stored: &[u8]) -> Option<Vec<u8>> {
    let (nonce, encrypted) = stored.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut bytes = encrypted.to_vec();
    let secret = key(root)?.open_in_place(nonce, owner(person), &mut bytes);
    secret.ok().map(|secret| secret.to_vec())
}

fn key(root: &SigningRoot) -> Option<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, &root.totp_key());
    key.ok().map(LessSafeKey::new)
}

fn owner(person: PersonId) -> Aad<String> {
    Aad::from(person.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8; SECRET_BYTES] = b"12345678901234567890";

    /// The roots of 32 bytes 0, and of 32 bytes 7.
    const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const SEVENS: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

    fn roots(current: &str, previous: Option<&str>) -> SigningRoots {
        let root = |text| SigningRoot::parse(text).unwrap();
        SigningRoots {
            current: root(current),
            previous: previous.map(root),
        }
    }

    fn ada() -> PersonId {
        "usr_019b76da807b774b805000000000002a".parse().unwrap()
    }

    fn stored(root: &str) -> Vec<u8> {
        encrypt_with(&roots(root, None).current, ada(), SECRET).unwrap()
    }

    #[test]
    fn a_secret_is_read_with_its_root_and_for_its_person() {
        let stored = stored(ZEROS);
        assert_eq!(stored.len(), 48);
        assert!(!stored.windows(SECRET_BYTES).any(|part| part == SECRET));
        let (old, new) = (roots(ZEROS, None), roots(SEVENS, None));
        let both = roots(SEVENS, Some(ZEROS));
        let read = |roots: Option<&SigningRoots>| decrypt(roots, ada(), &stored);
        assert_eq!(read(Some(&old)).unwrap(), SECRET);
        assert_eq!(read(Some(&both)).unwrap(), SECRET);
        assert!(read(Some(&new)).is_none() && read(None).is_none());
        let other = "usr_019b76da807b774b805000000000002b".parse().unwrap();
        assert!(decrypt(Some(&old), other, &stored).is_none());
    }

    #[test]
    fn a_changed_row_is_refused() {
        let (stored, roots) = (stored(ZEROS), roots(ZEROS, None));
        for index in 0..stored.len() {
            let mut changed = stored.clone();
            changed[index] ^= 1;
            assert!(decrypt(Some(&roots), ada(), &changed).is_none(), "{index}");
        }
        for length in [0, 5, 12, 27, 47] {
            assert!(decrypt(Some(&roots), ada(), &stored[..length]).is_none());
        }
    }

    #[test]
    fn secrets_that_are_plain_or_under_the_previous_root_are_renewed() {
        let both = roots(SEVENS, Some(ZEROS));
        assert_eq!(decrypt(None, ada(), SECRET).unwrap(), SECRET);
        for old in [SECRET.to_vec(), stored(ZEROS)] {
            let renewed = renew(&both, ada(), &old).unwrap();
            let new = roots(SEVENS, None);
            assert_eq!(decrypt(Some(&new), ada(), &renewed).unwrap(), SECRET);
        }
        assert!(renew(&both, ada(), &stored(SEVENS)).is_none());
        assert!(renew(&roots(SEVENS, None), ada(), &stored(ZEROS)).is_none());
    }
}
