//! Random values from the operating system.

use domain::api_key::ApiKey;
use domain::audit_token::AuditToken;
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
    ApiKey::generate(bytes::<64>()?).ok_or(AdminFailure::NoRandomness)
}

pub(super) fn audit_token() -> Result<AuditToken, AdminFailure> {
    AuditToken::generate(bytes::<64>()?).ok_or(AdminFailure::NoRandomness)
}

pub(super) fn token() -> Result<SecretToken, AdminFailure> {
    Ok(SecretToken::from_random(bytes()?))
}

fn bytes<const COUNT: usize>() -> Result<[u8; COUNT], AdminFailure> {
    let mut bytes = [0; COUNT];
    let filled = SysRng.try_fill_bytes(&mut bytes);
    filled.map_err(|_| AdminFailure::NoRandomness)?;
    Ok(bytes)
}
