//! Random values from the operating system.

use domain::api_key::ApiKey;
use domain::secret_token::SecretToken;
use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::admin::AdminFailure;

/// The random bits of an id.
pub(super) fn entropy() -> Result<u64, AdminFailure> {
    SysRng
        .try_next_u64()
        .map_err(|_| AdminFailure::NoRandomness)
}

pub(super) fn api_key() -> Result<ApiKey, AdminFailure> {
    // Twice the needed bytes: some are skipped so that all characters are equally likely.
    let mut bytes = [0; 64];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_| AdminFailure::NoRandomness)?;
    ApiKey::generate(bytes).ok_or(AdminFailure::NoRandomness)
}

pub(super) fn token() -> Result<SecretToken, AdminFailure> {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_| AdminFailure::NoRandomness)?;
    Ok(SecretToken::from_random(bytes))
}
